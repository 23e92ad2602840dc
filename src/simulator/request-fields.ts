import { fail } from './errors.ts'
import type { Pixels } from './pictures/measure.ts'
import { measurePicture } from './pictures/measure.ts'
import { readForm } from './read-form.ts'
import { readMarks } from './text/marks.ts'
import { refuse } from './text/perform.ts'
import type { Call } from './upstream.ts'

/** The fields of a request by name, unchanged; without fields whose value is null, which count as absent. */
export type Fields = ReadonlyMap<string, unknown>

export type Reference = { readonly content: Buffer; readonly pixels: Pixels }

const promptCharactersMax = 32_000

/** @throws Failure if the body is not a JSON object */
export function readFields({ body, headers }: Pick<Call, 'body' | 'headers'>): Fields {
  const type = (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
  if (type !== 'application/json') {
    throw fail('unsupported_content_type', { found: type, expected: 'application/json' })
  }
  let value: unknown
  try {
    value = JSON.parse(body.toString())
  } catch (cause) {
    throw fail('invalid_json', { reason: cause instanceof Error ? cause.message : String(cause) }, { cause })
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw fail('invalid_json', { reason: 'it is another JSON value' })
  }
  return new Map(Object.entries(value).filter(([, field]) => field !== null))
}

/**
 * Reads an edit: text fields, each at most once; reference images in order, as one `image` or any number of `image[]`;
 * at most one `mask`.
 * @throws Failure for any other form, and for files that are not pictures
 */
export function readEdit({ body, headers }: Call): {
  fields: Fields
  references: readonly [Reference, ...Reference[]]
} {
  const fields = new Map<string, string>()
  const references: Reference[] = []
  const names = new Set<string>()
  for (const part of readForm(body, headers['content-type'])) {
    const { name } = part
    if (names.has(name) && name !== 'image[]') throw fail('duplicate_parameter', { name }, { param: name })
    names.add(name)
    if (part.fileName === undefined) fields.set(name, part.content.toString())
    else if (name === 'mask') readReference(name, part.content)
    else if (name === 'image' || name === 'image[]') references.push(readReference(name, part.content))
    else throw fail('unknown_parameter', { name }, { param: name })
  }
  for (const name of ['image', 'image[]', 'mask']) {
    if (fields.has(name)) throw fail('invalid_type', { name, expected: 'a file', found: 'a string' }, { param: name })
  }
  if (names.has('image') && names.has('image[]'))
    throw fail('duplicate_parameter', { name: 'image' }, { param: 'image' })
  const [first, ...rest] = references
  if (!first) throw fail('missing_required_parameter', { name: 'image' }, { param: 'image' })
  return { fields, references: [first, ...rest] }
}

function readReference(name: string, content: Buffer): Reference {
  const pixels = measurePicture(content)
  if (!pixels) throw fail('invalid_image_file', { name }, { param: name })
  return { content, pixels }
}

/** @throws Failure on a field whose name is not among `known` */
export function refuseUnknown(fields: Fields, known: ReadonlySet<string>): void {
  for (const name of fields.keys()) if (!known.has(name)) throw fail('unknown_parameter', { name }, { param: name })
}

export function readPrompt(fields: Fields): string {
  // Every vendor routes by the model, so a gateway that loses it must get an error.
  readRequired(fields, 'model')
  const prompt = readRequired(fields, 'prompt')
  if (prompt.length > promptCharactersMax) {
    const params = { name: 'prompt', max: promptCharactersMax, found: prompt.length }
    throw fail('string_above_max_length', params, { param: 'prompt' })
  }
  const { refusal } = readMarks(prompt)
  if (refusal) throw refuse(refusal)
  return prompt
}

/** @throws Failure `missing_required_parameter`, `invalid_type` */
export function readRequired(fields: Fields, name: string): string {
  const text = readText(fields, name)
  if (text === undefined || text === '') throw fail('missing_required_parameter', { name }, { param: name })
  return text
}

export function readText(fields: Fields, name: string): string | undefined {
  const value = fields.get(name)
  if (value === undefined || typeof value === 'string') return value
  throw fail('invalid_type', { name, expected: 'a string', found: typeof value }, { param: name })
}

/** @returns the choice in lower case */
export function readChoice<Choice extends string>(
  fields: Fields,
  name: string,
  choices: readonly Choice[],
  otherwise: Choice,
): Choice {
  const value = readText(fields, name)?.toLowerCase()
  if (value === undefined) return otherwise
  const choice = choices.find(known => known === value)
  if (choice !== undefined) return choice
  throw fail('invalid_value', { name, found: value, expected: choices.join(', ') }, { param: name })
}

/** Reads a whole number; in a form, its digits. */
export function readInteger(
  fields: Fields,
  name: string,
  { min, max, otherwise }: { min: number; max: number; otherwise: number },
): number {
  const value = fields.get(name)
  if (value === undefined) return otherwise
  const number = typeof value === 'string' && /^-?\d{1,9}$/.test(value) ? Number(value) : value
  if (typeof number !== 'number' || !Number.isInteger(number)) {
    throw fail('invalid_type', { name, expected: 'an integer', found: JSON.stringify(value) }, { param: name })
  }
  if (number < min || number > max)
    throw fail('integer_out_of_range', { name, min, max, found: number }, { param: name })
  return number
}

/** Reads a boolean; in a form, the word `true` or `false`. */
export function readFlag(fields: Fields, name: string): boolean {
  const value = fields.get(name) ?? false
  if (value === true || value === 'true') return true
  if (value === false || value === 'false') return false
  throw fail('invalid_type', { name, expected: 'a boolean', found: JSON.stringify(value) }, { param: name })
}
