import { type Body, type Json, readField } from '../../src/kit/index.ts'
import { countCharacters } from './count-characters.ts'
import { isObject } from './is-object.ts'
import { measureText } from './measure-text.ts'
import type { Use } from './rate-use.ts'
import type { UsageFacet } from './schema.ts'

/** Where callers say how long an answer may be, in the words of every style. */
const limitFields = ['max_completion_tokens', 'max_tokens', 'max_output_tokens']
/** The same in the style that has an object for it, in both spellings that its upstreams take. */
const configFields = ['generationConfig', 'generation_config']
const configLimitFields = ['maxOutputTokens', 'max_output_tokens']
const choiceFields = ['candidateCount', 'candidate_count']
/** Speech at 128 kbit/s; what is compressed further is settled at what it was. */
const bytesPerSecond = 16_000
/** Documents of one search unit, as rerank upstreams count them. */
const documentsPerUnit = 100

/** Tokens of what the caller sent, by the length of its text, and so many for each file in it. */
export function estimateInput(body: Body, facet: UsageFacet): number {
  if (body.kind !== 'json') return estimateOther(body, facet)
  const { textBytes, files } = measureText(body.json.bytes)
  return Math.ceil(textBytes / facet.estimate.bytes_per_token) + files * facet.estimate.file_tokens
}

/** What a request may come to use, as far as it can be known before its answer: what is held for it. */
export function estimateRequest(body: Body, facet: UsageFacet): readonly Use[] {
  const uses: { readonly unit: string; readonly quantity: number }[] = [
    { unit: 'input', quantity: estimateInput(body, facet) },
    { unit: 'output', quantity: estimateOutput(body, facet.estimate.output_tokens) },
    { unit: 'character', quantity: countCharacters(body, facet.count_characters_of) ?? 0 },
    { unit: 'second', quantity: Math.ceil(fileBytes(body) / bytesPerSecond) },
    { unit: 'search_unit', quantity: Math.max(1, Math.ceil(listLength(body, 'documents') / documentsPerUnit)) },
    { unit: 'request', quantity: 1 },
  ]
  return uses.map(use => ({ ...use, source: 'default' }))
}

/**
 * The longest answer that the request admits, in tokens; `otherwise` where it says nothing, for each choice. Of several limits
 * the largest: nobody knows by which the upstream goes.
 */
export function estimateOutput(body: Body, otherwise: number): number {
  const asked = configFields.map(name => readField(body, name)).filter(value => value !== undefined)
  const configs = asked.filter(isObject)
  const choices = [readField(body, 'n'), ...configs.flatMap(config => choiceFields.map(name => config[name]))]
  const limits = [
    ...limitFields.map(name => readField(body, name)),
    ...configs.flatMap(config => configLimitFields.map(name => config[name])),
  ]
  return (largest(limits) ?? otherwise) * (largest(choices) ?? 1)
}

function largest(values: readonly (Json | undefined)[]): number | undefined {
  const known = values.map(positive).filter(value => value !== undefined)
  return known.length === 0 ? undefined : Math.max(...known)
}

/** A form is text, and files that count as any file does; what nobody has read counts as one. */
function estimateOther(body: Exclude<Body, { kind: 'json' }>, { estimate }: UsageFacet): number {
  if (body.kind === 'none') return 0
  if (body.kind === 'stream' || body.kind === 'composed') return estimate.file_tokens
  let tokens = 0
  for (const part of body.parts)
    tokens += part.kind === 'file' ? estimate.file_tokens : Buffer.byteLength(part.value) / estimate.bytes_per_token
  return Math.ceil(tokens)
}

/** A whole number above 0; larger ones than any model answers with are held at a million. */
function positive(value: Json | undefined): number | undefined {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 1) return undefined
  return Math.min(Math.floor(value), 1_000_000)
}

function listLength(body: Body, name: string): number {
  return (body.kind === 'json' && body.json.elements(name)) || 0
}

function fileBytes(body: Body): number {
  if (body.kind !== 'form') return 0
  return body.parts.reduce((sum, part) => sum + (part.kind === 'file' ? part.bytes : 0), 0)
}
