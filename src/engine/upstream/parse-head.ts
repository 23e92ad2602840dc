import { WireFault } from './wire-fault.ts'

/** Names in lower case; a repeated name has a list. */
export type AnswerHeaders = { readonly [name: string]: string | string[] | undefined }

/** The head of an answer, or of an interim one, as received. */
export type ParsedHead = {
  readonly status: number
  readonly headers: AnswerHeaders
  /** Its version and its `Connection` allow another request on the connection. */
  readonly persists: boolean
}

const statusLine = /^HTTP\/1\.([01]) ([0-9]{3})(?: [\t\x20-\x7e\x80-\xff]*)?$/
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const unreadable = /[^\t\x20-\x7e\x80-\xff]/
/** Up to 15 digits: longer numbers are not exact. */
const length = /^[0-9]{1,15}$/
const closes = /(?:^|,)[\t ]*close[\t ]*(?:,|$)/i
const keeps = /(?:^|,)[\t ]*keep-alive[\t ]*(?:,|$)/i

/** Names as upstreams write them, with their lower case: few, and often repeated. */
const known = new Map<string, string>()
const knownMax = 512

/**
 * Reads a head strictly (RFC 9112 4 and 5): no folded lines, no lone CR or LF, nothing between a name and its colon.
 * @param text latin1, from the status line to the last header, without the blank line that ends it
 * @throws WireFault
 */
export function parseHead(text: string): ParsedHead {
  let end = lineEnd(text, 0)
  const first = statusLine.exec(text.slice(0, end))
  if (!first) throw new WireFault('its first line is not a status line')
  // Without a prototype, whose member names would have a meaning.
  const headers: { [name: string]: string | string[] | undefined } = Object.create(null)
  while (end < text.length) {
    const start = end + 2
    end = lineEnd(text, start)
    const colon = text.indexOf(':', start)
    if (colon < 0 || colon >= end) throw new WireFault('a header has no colon')
    const name = readName(text.slice(start, colon))
    const value = readValue(text, colon + 1, end)
    const before = headers[name]
    if (name === 'content-length' && (before !== undefined || !length.test(value)))
      throw new WireFault('its content-length is not a single number')
    if (before === undefined) headers[name] = value
    else if (typeof before === 'string') headers[name] = [before, value]
    else before.push(value)
  }
  const isNew = first[1] === '1'
  // HTTP/1.0 has no codings: a proxy may have seen another end of it (RFC 9112 6.1).
  const isFramed = isNew || headers['transfer-encoding'] === undefined
  return { status: Number(first[2]), headers, persists: isFramed && persists(isNew, headers['connection']) }
}

function lineEnd(text: string, from: number): number {
  const end = text.indexOf('\r\n', from)
  return end < 0 ? text.length : end
}

function readName(text: string): string {
  const seen = known.get(text)
  if (seen !== undefined) return seen
  if (!token.test(text)) throw new WireFault('a header name is invalid')
  const name = text.toLowerCase()
  if (known.size < knownMax) known.set(text, name)
  return name
}

function readValue(text: string, from: number, to: number): string {
  let start = from
  let end = to
  while (start < end && isBlank(text.charCodeAt(start))) start++
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  const value = text.slice(start, end)
  if (unreadable.test(value)) throw new WireFault('a header value has invalid characters')
  return value
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09
}

function persists(isNew: boolean, connection: string | string[] | undefined): boolean {
  if (connection === undefined) return isNew
  const options = String(connection)
  return !closes.test(options) && (isNew || keeps.test(options))
}
