import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Head } from '../../plugin-api/index.ts'
import type { AnswerHead } from '../call-request.ts'
import { fail } from '../errors.ts'

/** The GUID for `sec-websocket-accept` (RFC 6455 1.3). */
const suffix = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
const keyPattern = /^[A-Za-z0-9+/]{22}==$/
const protocolPattern = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/

/** Whether a request opens a WebSocket. */
export function opensWebSocket({ method, headers }: Pick<IncomingMessage, 'method' | 'headers'>): boolean {
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket'
}

/** The target of a handshake with one slash at its start, because some SDKs join a base URL and a path with two. */
export function openingUrl(url: string): string {
  return url.startsWith('//') ? url.slice(1) : url
}

/** The client's WebSocket key and subprotocols. */
export type Opening = { readonly key: string; readonly protocols: readonly string[] }

/** @throws Failure websocket_invalid, websocket_version */
export function readOpening({ headers }: Head, secretProtocol: RegExp | undefined): Opening {
  const { 'sec-websocket-key': key, 'sec-websocket-version': version, 'sec-websocket-protocol': offered } = headers
  if (version !== '13') throw fail('websocket_version', {}, { headers: { 'sec-websocket-version': '13' } })
  if (typeof key !== 'string' || !keyPattern.test(key))
    throw fail('websocket_invalid', { why: "'sec-websocket-key' is not 16 bytes in base64" })
  if (!/\bupgrade\b/i.test(String(headers['connection'] ?? '')))
    throw fail('websocket_invalid', { why: "'connection' does not name 'upgrade'" })
  const all = typeof offered === 'string' ? offered.split(',').map(one => one.trim()) : []
  if (!all.every(one => protocolPattern.test(one) || secretProtocol?.test(one)))
    throw fail('websocket_invalid', { why: "'sec-websocket-protocol' contains an invalid name" })
  return { key, protocols: all.filter(one => !secretProtocol?.test(one)) }
}

/** Headers that request a WebSocket from an upstream. They offer no extension, because frames must stay readable. */
export function openingHeaders({ key, protocols }: Opening): { readonly [name: string]: string } {
  return {
    'sec-websocket-key': key,
    'sec-websocket-version': '13',
    ...(protocols.length > 0 && { 'sec-websocket-protocol': protocols.join(', ') }),
  }
}

/** @returns the reason why the upstream's 101 is invalid; undefined if it is valid */
export function findOpeningFault(
  { key, protocols }: Opening,
  { headers }: Pick<AnswerHead, 'headers'>,
): string | undefined {
  if (String(headers['upgrade'] ?? '').toLowerCase() !== 'websocket') return 'it switched to another protocol'
  if (headers['sec-websocket-accept'] !== acceptOf(key)) return "its header 'sec-websocket-accept' is wrong"
  if (headers['sec-websocket-extensions'] !== undefined) return 'it uses a WebSocket extension that was not offered'
  const chosen = headers['sec-websocket-protocol']
  return chosen === undefined || protocols.includes(String(chosen))
    ? undefined
    : 'it chose a subprotocol that was not offered'
}

/** The head of the 101 for the client. `more`: additional headers, such as the session id. */
export function openingAnswer(
  { key }: Opening,
  chosen: string | undefined,
  more: { readonly [name: string]: string },
): string {
  const lines = Object.entries({
    upgrade: 'websocket',
    connection: 'Upgrade',
    'sec-websocket-accept': acceptOf(key),
    ...(chosen !== undefined && { 'sec-websocket-protocol': chosen }),
    ...more,
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 101 Switching Protocols\r\n${lines.join('')}\r\n`
}

function acceptOf(key: string): string {
  return createHash('sha1')
    .update(key + suffix)
    .digest('base64')
}
