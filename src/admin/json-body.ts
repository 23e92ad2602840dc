import { isUtf8 } from 'node:buffer'
import type { Failure } from '../domain/index.ts'
import { refuse } from './reasons.ts'

type Done = (error: Error | null, body?: unknown) => void

/** A parser of bodies in UTF-8, by a parser of JSON. */
export function jsonParser<R>(parse: (request: R, text: string, done: Done) => void) {
  return (request: R, bytes: Buffer, done: Done): void => {
    // Some clients send the type of a body that they omit.
    if (bytes.length === 0) return done(null)
    if (!isUtf8(bytes)) return done(notUnicode('body'))
    const text = bytes.toString()
    return parse(request, text, (error, body) => done(error ?? findLoss(text, body), body))
  }
}

/** Refuses a body of another type, unless it is absent. */
export function refuseOtherBody(_request: unknown, bytes: Buffer, done: Done): void {
  done(bytes.length === 0 ? null : refuse('invalid', 'not_json', {}))
}

function notUnicode(field: string): Failure {
  return refuse('invalid', 'not_unicode', { field }, { param: field })
}

/**
 * The refusal of a body of which something would be lost: half of a surrogate pair, which an escape can contain, is
 * stored as another character, and of two members with one name only the last remains.
 */
function findLoss(text: string, body: unknown): Failure | null {
  const names = countNames(text)
  const open: (readonly [path: string, value: unknown])[] = [['', body]]
  for (let next = open.pop(); next; next = open.pop()) {
    const [path, value] = next
    if (typeof value === 'string' && !value.isWellFormed()) return notUnicode(path)
    if (typeof value !== 'object' || value === null) continue
    for (const [name, inner] of Object.entries(value)) {
      if (!Array.isArray(value)) names.set(name, (names.get(name) ?? 0) - 1)
      open.push([path === '' ? name : `${path}.${name}`, inner])
    }
  }
  const twice = [...names.keys()].find(name => names.get(name) !== 0)
  return twice === undefined ? null : refuse('invalid', 'field_twice', { field: twice }, { param: twice })
}

/** How often the members of valid JSON have each name. */
function countNames(text: string): Map<string, number> {
  const names = new Map<string, number>()
  for (let from = text.indexOf('"'); from >= 0; ) {
    const end = endOfString(text, from)
    let next = end
    while (' \t\r\n'.includes(text[next] ?? ':')) next++
    if (text[next] === ':') {
      const name = JSON.parse(text.slice(from, end)) as string
      names.set(name, (names.get(name) ?? 0) + 1)
    }
    from = text.indexOf('"', end)
  }
  return names
}

/** The index after the closing quote: the next quote after an even number of backslashes. */
function endOfString(text: string, from: number): number {
  for (let quote = text.indexOf('"', from + 1); ; quote = text.indexOf('"', quote + 1)) {
    let first = quote
    while (text[first - 1] === '\\') first--
    if ((quote - first) % 2 === 0) return quote + 1
  }
}
