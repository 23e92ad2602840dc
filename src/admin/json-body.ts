import { isUtf8 } from 'node:buffer'
import type { Failure } from '../domain/index.ts'
import { repeatedNames } from '../util/index.ts'
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
  const open: (readonly [path: string, value: unknown])[] = [['', body]]
  for (let next = open.pop(); next; next = open.pop()) {
    const [path, value] = next
    if (typeof value === 'string' && !value.isWellFormed()) return notUnicode(path)
    if (typeof value !== 'object' || value === null) continue
    for (const [name, inner] of Object.entries(value)) open.push([path === '' ? name : `${path}.${name}`, inner])
  }
  const [twice] = repeatedNames(text)
  if (!twice) return null
  const field = twice.join('.')
  return refuse('invalid', 'field_twice', { field }, { param: field })
}
