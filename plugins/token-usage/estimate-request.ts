import { type Body, type Json, type OperationTraits, readField, isObject } from '../../src/plugin-api/index.ts'
import { countCharacters } from './count-characters.ts'
import { measureText } from './measure-text.ts'
import { requestedHours } from './stored-tokens.ts'
import type { Use } from '../../src/pricing/index.ts'
import type { UsageFacet } from './schema.ts'

/** The request fields that limit the length and number of answers, in every API format. */
const limitFields = ['max_completion_tokens', 'max_tokens', 'max_output_tokens']
const configFields = ['generationConfig', 'generation_config']
const configLimits = ['maxOutputTokens', 'max_output_tokens']
const configChoices = ['candidateCount', 'candidate_count']
const limitPaths: readonly string[] = [
  ...limitFields,
  ...configFields.flatMap(config => configLimits.map(name => `${config}.${name}`)),
]
/** A number as text. */
const numeral = /^\s*\d{1,15}(?:\.\d{0,15})?\s*$/
/** The bytes of a second of speech at 128 kbit/s; more compressed audio is settled at its real length. */
const bytesPerSecond = 16_000
/** The number of documents of one search unit, as rerank upstreams count them. */
const documentsPerUnit = 100

/** The estimated tokens of the client's input: by the length of its text, plus a fixed number for each file. */
export function estimateInput(body: Body, facet: UsageFacet): number {
  if (body.kind !== 'json') return estimateOther(body, facet)
  const { textBytes, files } = measureText(body.json.bytes)
  return Math.ceil(textBytes / facet.estimate.bytes_per_token) + files * facet.estimate.file_tokens
}

/** The estimated usage of a request before its answer; the hold covers it. */
export function estimateRequest(body: Body, facet: UsageFacet, traits?: OperationTraits): readonly Use[] {
  const hasOutput = !traits?.storesTokens && !traits?.answersVectors
  const uses: { readonly unit: string; readonly quantity: number }[] = [
    { unit: 'input', quantity: estimateInput(body, facet) },
    { unit: 'output', quantity: hasOutput ? estimateOutput(body, facet.estimate.output_tokens, traits) : 0 },
    { unit: 'character', quantity: countCharacters(body, facet.count_characters_of) ?? 0 },
    { unit: 'second', quantity: secondsOf(fileBytes(body)) },
    { unit: 'search_unit', quantity: Math.max(1, Math.ceil(listLength(body, 'documents') / documentsPerUnit)) },
    { unit: 'request', quantity: 1 },
  ]
  if (traits?.storesTokens) {
    const tokenHours = estimateInput(body, facet) * requestedHours(body, traits)
    uses.push({ unit: 'cache_storage', quantity: Math.ceil(tokenHours) })
  }
  return uses.map(use => ({ ...use, source: 'default' }))
}

/**
 * The longest answer that the request allows, in tokens, times the number of choices; `otherwise` if it sets no limit.
 * The largest of several limits applies, because it is unknown which one the upstream uses. A limit of another API
 * format, or as text, may not bind the upstream: it can raise the result and never lowers it.
 */
export function estimateOutput(body: Body, otherwise: number, traits?: OperationTraits): number {
  const own = traits?.answerLimits ?? limitPaths
  const limits = new Limits(own)
  let choices = positive(numberIn(readField(body, 'n')))
  for (const name of limitFields) limits.read(name, readField(body, name))
  for (const config of configFields) {
    const object = readField(body, config)
    if (!isObject(object)) continue
    for (const name of configLimits) limits.read(`${config}.${name}`, object[name])
    for (const name of configChoices) choices = Math.max(choices, positive(numberIn(object[name])))
  }
  for (const path of own) if (!limitPaths.includes(path)) limits.read(path, readNumber(body, path))
  return Math.max(limits.binding || otherwise, limits.declared) * (choices || 1)
}

/** The largest limits of a request; 0 if it sets none. */
class Limits {
  /** The largest limit in fields of its own API format, as numbers. */
  binding = 0
  /** The largest limit in fields of any API format, including texts. */
  declared = 0
  readonly #own: readonly string[]

  constructor(own: readonly string[]) {
    this.#own = own
  }

  read(path: string, value: Json | undefined): void {
    if (value === undefined) return
    this.declared = Math.max(this.declared, positive(numberIn(value)))
    if (this.#own.includes(path)) this.binding = Math.max(this.binding, positive(value))
  }
}

/** The value at a path of at most two names. */
function readNumber(body: Body, path: string): Json | undefined {
  const dot = path.indexOf('.')
  if (dot === -1) return readField(body, path)
  const object = readField(body, path.slice(0, dot))
  return isObject(object) ? object[path.slice(dot + 1)] : undefined
}

/** Converts a text with a number, because upstreams may accept it. */
function numberIn(value: Json | undefined): Json | undefined {
  return typeof value === 'string' && numeral.test(value) ? Number(value) : value
}

/**
 * The estimated tokens of other bodies: a form counts as text, and its files as files; an unread body counts as one
 * file.
 */
function estimateOther(body: Exclude<Body, { kind: 'json' }>, { estimate }: UsageFacet): number {
  if (body.kind === 'none') return 0
  if (body.kind === 'stream' || body.kind === 'composed') return estimate.file_tokens
  let tokens = 0
  for (const part of body.parts)
    tokens += part.kind === 'file' ? estimate.file_tokens : Buffer.byteLength(part.value) / estimate.bytes_per_token
  return Math.ceil(tokens)
}

/** A whole number above 0, or 0 for anything else; capped at a million, which is more than any answer. */
function positive(value: Json | undefined): number {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 1) return 0
  return Math.min(Math.floor(value), 1_000_000)
}

function listLength(body: Body, name: string): number {
  return (body.kind === 'json' && body.json.elements(name)) || 0
}

/** The estimated seconds of audio with this number of bytes. */
export function secondsOf(bytes: number): number {
  return Math.ceil(bytes / bytesPerSecond)
}

function fileBytes(body: Body): number {
  if (body.kind !== 'form') return 0
  return body.parts.reduce((sum, part) => sum + (part.kind === 'file' ? part.bytes : 0), 0)
}
