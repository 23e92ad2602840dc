import { isUtf8 } from 'node:buffer'
import { fail } from './errors.ts'

/** Most header lines of one part. */
export const headersMax = 20

/** What a part's header lines say. */
export type PartHead = {
  readonly name: string
  readonly file: boolean
  /** Taken for a file by its field alone, and says by its headers that it is text: its contents tell which it is. */
  readonly claimsText: boolean
  /** A text part in a charset that is only known to be ours while it keeps to ASCII. */
  readonly asciiOnly: boolean
}

const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
const header = new RegExp(`^(${token}):`)
const parameter = new RegExp(`[ \\t]*;[ \\t]*(${token})=(?:"((?:[^"\\\\]|\\\\.)*)"|(${token}))`, 'gsy')
const dispositionType = /^form-data(?=[ \t]*(?:;|$))/i
const contentType = new RegExp(`^(${token}/${token})`)
/** Readers differ over these: as escapes, as themselves, or as the end of the name. */
const ambiguous = /[\p{Cc}"\\]|%22|%0a|%0d/iu
/** RFC 9110 5.5; some readers drop a part for it, others take it. */
const control = /\p{Cc}/u
/** RFC 8187, in the one charset that it asks for: a reader that does not know another drops the part. */
const extended = /^utf-8'[a-z\d-]*'(?:%[\da-f]{2}|[!#$&+.^_`|~\da-z-])*$/i
const identities = new Set(['7bit', '8bit', 'binary'])
const utf8 = new Set(['utf-8', 'utf8', 'us-ascii', 'ascii'])
/** Charsets that agree with UTF-8 on ASCII; HTTP clients in Java declare the first by default. */
const asciiLike = new Set(['iso-8859-1', 'latin1', 'windows-1252'])
const nameBytesMax = 256

/**
 * Reads the header lines of one part (RFC 7578 4.2), refusing whatever two readers could read differently: folded,
 * repeated or malformed headers, parameters given twice or encoded, names with quotes or escapes, encoded contents.
 * File names and file types are not kept, since they are not believed.
 * @param block the lines, without the blank one; `where` names the part in errors; `isFileField` tells of a name whether
 *   what stands under it is a file, with a filename or without (openai-java sends `application/octet-stream` and none)
 * @throws Failure form_malformed, form_too_complex
 */
export function parsePartHead(
  block: Buffer,
  where: string,
  isFileField: (name: string) => boolean = () => false,
): PartHead {
  const malformed = (why: string) => fail('form_malformed', { where, why })
  const seen = new Map<string, string>()
  const lines = block.length === 0 ? [] : block.toString('latin1').split('\r\n')
  if (lines.length > headersMax)
    throw fail('form_too_complex', { what: `${where} with ${lines.length} headers`, max: headersMax })
  for (const line of lines) {
    if (line.startsWith(' ') || line.startsWith('\t')) throw malformed('has a folded header')
    if (line.includes('\r') || line.includes('\n')) throw malformed('has a line end inside a header')
    const match = header.exec(line)
    if (!match) throw malformed('has a malformed header')
    const name = (match[1] as string).toLowerCase()
    // A filename may hold anything, since it goes nowhere.
    if (name !== 'content-disposition' && control.test(Buffer.from(line, 'latin1').toString().replaceAll('\t', ' ')))
      throw malformed('has a control character in a header')
    if (name.startsWith('content-') && seen.has(name)) throw malformed(`has two ${name} headers`)
    seen.set(name, trimBlanks(line, match[0].length))
  }

  const disposition = seen.get('content-disposition')
  if (disposition === undefined) throw malformed('has no content-disposition')
  const { name, file: isNamed } = parseDisposition(disposition, malformed)

  const encoding = seen.get('content-transfer-encoding')
  if (encoding !== undefined && !identities.has(encoding.toLowerCase()))
    throw malformed('has a content-transfer-encoding: send the bytes as they are')
  const type = seen.get('content-type')
  const claimsText = !isNamed && isFileField(name) && isTextType(type)
  const file = isNamed || (isFileField(name) && !claimsText)
  const asciiOnly = type !== undefined && isAsciiOnly(type, file, malformed)
  return { name, file: file || claimsText, claimsText, asciiOnly }
}

/** What stands from a place on, without the blanks around it. By hand: a regular expression tries each run of blanks again and again. */
function trimBlanks(line: string, from: number): string {
  let start = from
  let end = line.length
  while (start < end && isBlank(line, start)) start++
  while (end > start && isBlank(line, end - 1)) end--
  return line.slice(start, end)
}

function isBlank(line: string, at: number): boolean {
  const code = line.charCodeAt(at)
  return code === 0x20 || code === 0x09
}

function parseDisposition(text: string, malformed: (why: string) => Error): { name: string; file: boolean } {
  const type = dispositionType.exec(text)
  if (!type) throw malformed('has a content-disposition that is not form-data')
  const params = parseParameters(text, type[0].length)
  if (!params) throw malformed('has a malformed content-disposition: quotes in a filename need a backslash or %22')
  for (const name of params.keys())
    if (name.includes('*') && name !== 'filename*') throw malformed('has an encoded or split name')
  const coded = params.get('filename*')
  if (coded !== undefined && !extended.test(coded)) throw malformed('has a filename* that is not UTF-8')
  const raw = params.get('name')
  if (raw === undefined || raw === '') throw malformed('has no name')
  const bytes = Buffer.from(raw, 'latin1')
  if (!isUtf8(bytes)) throw malformed('has a name that is not UTF-8')
  const decoded = bytes.toString()
  if (ambiguous.test(decoded)) throw malformed('has a name with quotes, backslashes or control characters')
  if (bytes.length > nameBytesMax) throw malformed(`has a name of more than ${nameBytesMax} bytes`)
  return { name: decoded, file: params.has('filename') || params.has('filename*') }
}

function isTextType(type: string | undefined): boolean {
  if (type === undefined) return true
  const essence = contentType.exec(type)?.[1]?.toLowerCase()
  return essence === undefined || essence.startsWith('text/') || essence === 'application/json'
}

/** Whether a part may hold ASCII only; a text part has to be text, and a form in a form is refused. */
function isAsciiOnly(text: string, file: boolean, malformed: (why: string) => Error): boolean {
  const type = contentType.exec(text)?.[1]?.toLowerCase()
  if (type?.startsWith('multipart/')) throw malformed('is a form itself')
  if (file) return false
  const params = type === undefined ? undefined : parseParameters(text, type.length)
  if (!type || !params) throw malformed('has a malformed content-type')
  if (!type.startsWith('text/') && type !== 'application/json')
    throw malformed(`is ${type} without a filename: send a file with a filename`)
  const charset = params.get('charset')?.toLowerCase() ?? 'utf-8'
  if (utf8.has(charset)) return false
  if (asciiLike.has(charset)) return true
  throw malformed('is in a charset other than UTF-8')
}

/** The parameters from a place to the end, names in lower case; undefined when malformed or given twice. */
function parseParameters(text: string, from: number): Map<string, string> | undefined {
  const params = new Map<string, string>()
  let end = from
  parameter.lastIndex = from
  for (let match = parameter.exec(text); match; match = parameter.exec(text)) {
    end = parameter.lastIndex
    const name = (match[1] as string).toLowerCase()
    if (params.has(name)) return undefined
    params.set(name, match[2] ?? (match[3] as string))
  }
  parameter.lastIndex = 0
  return end === text.length ? params : undefined
}
