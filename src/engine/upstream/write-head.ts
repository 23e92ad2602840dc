import { UnsendableRequest } from './wire-fault.ts'

/** The content of a request's head, except the length of its body. */
export type RequestHead = {
  readonly method: string
  readonly path: string
  /** For the line `host`. */
  readonly host: string
  /** Flat list of names and values. */
  readonly headers: readonly string[]
  /** Whether the connection may carry another request. */
  readonly reuse: boolean
  /** The protocol that the connection is to carry from then on. */
  readonly upgrade?: string | undefined
}

const unsendable = /[^\t\x20-\x7e\x80-\xff]/
const unsendablePath = /[^\x21-\x7e\x80-\xff]/
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** `passes`: written unchanged. `read`: other code has read it, and its line is made here. `refused`: not allowed. */
type Kind = 'passes' | 'read' | 'refused'

const kinds: { readonly [name: string]: Kind } = {
  host: 'read',
  connection: 'read',
  'content-length': 'refused',
  'transfer-encoding': 'refused',
  'keep-alive': 'refused',
  upgrade: 'refused',
  expect: 'refused',
}
/** Names that were checked: the same ones recur. */
const known = new Map<string, Kind>()
const knownMax = 512

/**
 * The head of a request (RFC 9112), latin1, to which one of `framing` is appended. Only this code writes the end of the
 * body and the fate of the connection: its caller has read `host` and `connection` of the list.
 * @throws UnsendableRequest for what would be read as another line, or would frame the body otherwise
 */
export function writeHead({ method, path, host, headers, reuse, upgrade }: RequestHead): string {
  if (!path.startsWith('/') || unsendablePath.test(path)) throw new UnsendableRequest('its path cannot be written')
  if (!token.test(method)) throw new UnsendableRequest('its method cannot be written')
  if (host === '' || unsendable.test(host)) throw new UnsendableRequest('its host cannot be written')
  const connection = upgrade === undefined ? (reuse ? 'keep-alive' : 'close') : `Upgrade\r\nupgrade: ${upgrade}`
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: ${connection}\r\n`
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string
    const value = headers[i + 1]
    const kind = kindOf(name)
    if (kind === 'read') continue
    if (kind === 'refused' || typeof value !== 'string' || unsendable.test(value))
      throw new UnsendableRequest(`its header '${name.slice(0, 64)}' cannot be written`)
    head += `${name}: ${value}\r\n`
  }
  return head
}

function kindOf(name: string): Kind {
  const seen = known.get(name)
  if (seen !== undefined) return seen
  const lower = name.toLowerCase()
  const kind = token.test(name) ? (Object.hasOwn(kinds, lower) ? (kinds[lower] as Kind) : 'passes') : 'refused'
  if (known.size < knownMax) known.set(name, kind)
  return kind
}

/** The end of a head: the length of the body, if one is sent or expected. */
export const framing = {
  counted: (bytes: number): string => `content-length: ${bytes}\r\n\r\n`,
  chunked: 'transfer-encoding: chunked\r\n\r\n',
  none: '\r\n',
} as const
