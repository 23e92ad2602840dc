import { type ApiFormat, isObject, type Json, type Reply } from '../../src/plugin-api/index.ts'
import { parseJsonIfValid } from '../../src/wire/index.ts'

const eventLine = 'event:'
const errorEvents: ReadonlySet<string> = new Set(['error', 'failed'])
const dataLine = 'data:'

/** Whether a completed answer is successful and complete, by its content. */
export function isComplete(body: Buffer, reply: Reply, { lastEvents }: ApiFormat): boolean {
  if (body.length === 0) return false
  const text = body.toString()
  if (reply.headers['content-type']?.startsWith('text/event-stream')) {
    const lines = text.split('\n')
    const isEnded = lastEvents ? lines.some(line => lastEvents.some(last => line.startsWith(last))) : !reply.endUnknown
    return isEnded && text.endsWith('\n') && !lines.some(isErrorLine)
  }
  const answer = parseJsonIfValid(text)
  if (typeof answer !== 'object' || answer === null) return false
  return Array.isArray(answer) ? !answer.some(hasError) : !hasError(answer)
}

function isErrorLine(line: string): boolean {
  if (line.startsWith(eventLine))
    return errorEvents.has(
      line
        .trimEnd()
        .split(/[ :._]/)
        .at(-1) ?? '',
    )
  if (!line.startsWith(dataLine) || !line.includes('"error"')) return false
  return hasError(parseJsonIfValid(line.slice(dataLine.length)))
}

const failedStates: ReadonlySet<unknown> = new Set(['failed', 'cancelled'])

/** Also finds the error of one of several results, which some upstreams send with status 200. */
function hasError(value: Json | undefined): boolean {
  if (!isObject(value)) return false
  const { choices, candidates, error, object, status, type } = value
  if (isError(error) || type === 'error' || (object === 'response' && failedStates.has(status))) return true
  return [choices, candidates].some(list => Array.isArray(list) && list.some(isFailedResult))
}

function isFailedResult(one: Json): boolean {
  return isObject(one) && (isError(one['error']) || one['finish_reason'] === 'error')
}

function isError(value: Json | undefined): boolean {
  return value !== undefined && value !== null
}

const escapes = /\\(?:u([0-9a-fA-F]{4})|(.))/g
const controls: { readonly [letter: string]: string } = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }

/** A search for more texts would block all other requests. Vendors allow metadata of 16 names and values. */
const textsMax = 128

/**
 * Whether an answer contains one of these texts, or may contain one of very many. Upstreams differ over which
 * characters they escape.
 */
export function repeats(body: Buffer, texts: readonly string[]): boolean {
  if (texts.length === 0) return false
  if (texts.length > textsMax) return true
  const plain = body
    .toString()
    .replace(escapes, (_, code?: string, letter = '') =>
      code === undefined ? (controls[letter] ?? letter) : String.fromCharCode(Number.parseInt(code, 16)),
    )
  return texts.some(text => plain.includes(text))
}
