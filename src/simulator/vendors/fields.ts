import { Failure } from '../../domain/index.ts'
import type { Pixels } from '../pictures/measure.ts'
import { measurePicture } from '../pictures/measure.ts'
import { readForm } from '../read-form.ts'
import type { Call } from '../upstream.ts'
import { Problem } from './problem.ts'

/**
 * Reads a value at a path of the request; an absent field has the value undefined.
 * @throws Problem
 */
export type Rule<T> = (value: unknown, at: string) => T
export type Shape = { readonly [name: string]: Rule<unknown> }
export type Read<S extends Shape> = { readonly [name in keyof S]: S[name] extends Rule<infer T> ? T : never }

function invalid(at: string, found: unknown, expected: string): Problem {
  const shown = JSON.stringify(found)?.slice(0, 60) ?? 'nothing'
  return new Problem('invalid_value', `Invalid value at '${at}': ${shown}. Expected ${expected}.`, { field: at })
}

/** Makes a rule for present values; null counts as absent. */
function rule<T>(expected: string, read: (value: unknown, at: string) => T | undefined): Rule<T | undefined> {
  return (value, at) => {
    if (value === undefined || value === null) return undefined
    const got = read(value, at)
    if (got === undefined) throw invalid(at, value, expected)
    return got
  }
}

export function must<T>(inner: Rule<T | undefined>): Rule<T> {
  return (value, at) => {
    const got = inner(value, at)
    if (got === undefined || got === '') {
      throw new Problem('missing_field', `Missing required field '${at}'.`, { field: at })
    }
    return got
  }
}

export const text = rule('a string', value => (typeof value === 'string' ? value : undefined))
export const flag = rule('a boolean', value => (typeof value === 'boolean' ? value : undefined))
export const anything: Rule<unknown> = value => value ?? undefined

export function oneOf<const C extends readonly string[]>(...choices: C): Rule<C[number] | undefined> {
  return rule(`one of ${choices.join(', ')}`, value => choices.find(choice => choice === value))
}

export function whole(min: number, max: number, multiple = 1): Rule<number | undefined> {
  return rule(`an integer from ${min} to ${max}${multiple > 1 ? `, a multiple of ${multiple}` : ''}`, value =>
    Number.isInteger(value) && Number(value) >= min && Number(value) <= max && Number(value) % multiple === 0
      ? Number(value)
      : undefined,
  )
}

export function decimal(min: number, max: number): Rule<number | undefined> {
  return rule(`a number from ${min} to ${max}`, value =>
    typeof value === 'number' && value >= min && value <= max ? value : undefined,
  )
}

export function list<T>(inner: Rule<T | undefined>, max: number): Rule<readonly T[] | undefined> {
  return rule(`a list of at most ${max}`, (value, at) =>
    Array.isArray(value) && value.length <= max ? value.map((one, i) => must(inner)(one, `${at}[${i}]`)) : undefined,
  )
}

/** An object with these fields and no others. */
export function shape<S extends Shape>(members: S): Rule<Read<S> | undefined> {
  return rule('an object', (value, at) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
    return readMembers(members, value, at)
  })
}

function readMembers<S extends Shape>(members: S, value: object, at: string): Read<S> {
  const found: { [name: string]: unknown } = { ...value }
  for (const name of Object.keys(found)) {
    const path = at === '' ? name : `${at}.${name}`
    if (!Object.hasOwn(members, name)) {
      throw new Problem('unknown_field', `Unknown field '${path}'.`, { field: path })
    }
  }
  return Object.fromEntries(
    Object.entries(members).map(([name, read]) => [name, read(found[name], at === '' ? name : `${at}.${name}`)]),
  ) as Read<S>
}

/**
 * Uses the first rule that accepts the value. If neither does, and the first found an unknown field, its problem is
 * thrown.
 */
export function either<A, B>(one: Rule<A>, other: Rule<B>): Rule<A | B> {
  return (value, at) => {
    try {
      return one(value, at)
    } catch (problem) {
      if (!(problem instanceof Problem) || problem.kind !== 'unknown_field') return other(value, at)
      try {
        return other(value, at)
      } catch {
        throw problem
      }
    }
  }
}

/** A picture in the request. The pixels of a link are unknown. */
export type Sent = { readonly pixels: Pixels | undefined; readonly mime: string | undefined }
type Spelling = 'link' | 'data-url' | 'base64'

const expectedSpellings = { link: 'a link', 'data-url': 'a data: URL of a picture', base64: 'base64 of a picture' }

export function image(...spellings: readonly Spelling[]): Rule<Sent | undefined> {
  return rule(spellings.map(one => expectedSpellings[one]).join(' or '), value => {
    if (typeof value !== 'string') return undefined
    const spelled: Spelling = value.startsWith('data:')
      ? 'data-url'
      : /^[a-z]{2,5}:\/\//.test(value)
        ? 'link'
        : 'base64'
    if (!spellings.includes(spelled)) return undefined
    if (spelled === 'link') return { pixels: undefined, mime: undefined }
    const comma = spelled === 'data-url' ? value.indexOf(',') : -1
    const head = value.slice(0, comma + 1)
    if (spelled === 'data-url' && !/^data:image\/[\w.+-]+;base64,$/.test(head)) return undefined
    const pixels = measurePicture(Buffer.from(value.slice(comma + 1), 'base64'))
    return pixels && { pixels, mime: head.slice('data:'.length, -';base64,'.length) || undefined }
  })
}

/** The file in a part of a form. */
export const file = rule('a file', value => (Buffer.isBuffer(value) ? pictureOf(value) : undefined))

function pictureOf(bytes: Buffer): Sent | undefined {
  const pixels = measurePicture(bytes)
  return pixels && { pixels, mime: undefined }
}

/**
 * @param assumed the media type of a body without one
 * @throws Problem if the body is not a JSON object with these fields
 */
export function readJson<S extends Shape>(
  { body, headers }: Pick<Call, 'body' | 'headers'>,
  members: S,
  assumed = '',
): Read<S> {
  const type = (headers['content-type'] ?? assumed).split(';')[0]?.trim().toLowerCase() ?? ''
  if (type !== 'application/json') {
    throw new Problem('content_type', `Expected a body of application/json, and got '${type}'.`)
  }
  let value: unknown
  try {
    value = JSON.parse(body.toString())
  } catch (cause) {
    throw new Problem('invalid_value', `The body is no JSON: ${cause instanceof Error ? cause.message : 'unreadable'}.`)
  }
  const read = shape(members)(value ?? [], '')
  if (read === undefined) throw new Problem('missing_field', 'The body is empty.')
  return read
}

/**
 * Reads a form. A name that ends in `[]` may occur several times, and gives a list. Numbers and booleans are texts.
 * @throws Problem
 */
export function readFormOf<S extends Shape>({ body, headers }: Pick<Call, 'body' | 'headers'>, members: S): Read<S> {
  const found = new Map<string, unknown>()
  try {
    for (const { name, fileName, content } of readForm(body, headers['content-type'])) {
      const value = fileName === undefined ? content.toString() : content
      const before = found.get(name)
      if (name.endsWith('[]')) found.set(name, [...(Array.isArray(before) ? (before as unknown[]) : []), value])
      else if (found.has(name))
        throw new Problem('invalid_value', `The field '${name}' is there twice.`, { field: name })
      else found.set(name, value)
    }
  } catch (cause) {
    if (!(cause instanceof Failure)) throw cause
    throw new Problem(cause.code === 'unsupported_content_type' ? 'content_type' : 'invalid_value', cause.message)
  }
  const loose = Object.fromEntries(Object.entries(members).map(([name, read]) => [name, spelledOut(read)]))
  return readMembers(loose, Object.fromEntries(found), '') as Read<S>
}

function spelledOut<T>(read: Rule<T>): Rule<T> {
  return (value, at) => {
    try {
      return read(value, at)
    } catch (problem) {
      if (typeof value !== 'string' || !/^(?:true|false|-?\d{1,12}(?:\.\d{1,9})?)$/.test(value)) throw problem
      return read(JSON.parse(value), at)
    }
  }
}
