import {
  type Body,
  type Json,
  readField,
  type UnitName,
  type UsageFacts,
  isObject,
} from '../../src/plugin-api/index.ts'

/** The request fields, in any API format, that prices may depend on. */
const factFields: readonly { readonly field: string; readonly fact: keyof UsageFacts }[] = [
  { field: 'service_tier', fact: 'service_tier' },
  { field: 'serviceTier', fact: 'service_tier' },
  { field: 'speed', fact: 'speed' },
  { field: 'inference_geo', fact: 'region' },
]

/** Values that leave the choice to the upstream. */
const openValues: ReadonlySet<string> = new Set(['auto', 'default', 'standard_only', 'on_demand', 'unspecified'])

/** The facts of the request that prices may depend on. */
export function requestFacts(body: Body): UsageFacts {
  let facts: { -readonly [name in keyof UsageFacts]: string } | undefined
  for (const { field, fact } of factFields) {
    const value = readField(body, field)
    if (typeof value === 'string' && value !== '' && !openValues.has(value.toLowerCase()))
      (facts ??= {})[fact] = value.toLowerCase()
  }
  return facts ?? none
}

const none: UsageFacts = {}

/** The same at an upstream, whose region applies if the request names none. */
export function requestFactsAt({ region }: { readonly region?: string | undefined }, body: Body): UsageFacts {
  return region === undefined ? requestFacts(body) : { region, ...requestFacts(body) }
}

/** Replaces values that mean the standard tier with `standard`, as in answers. */
export function ordinaryFacts(facts: UsageFacts): UsageFacts {
  const { service_tier: tier } = facts
  return tier !== undefined && openValues.has(tier) ? { ...facts, service_tier: 'standard' } : facts
}

/** Texts in a request whose answer may use a kind of tokens, in any API format. */
const wordsOf: { readonly [unit in UnitName]?: readonly string[] } = {
  input_audio: ['audio', 'AUDIO'],
  cached_input_audio: ['audio', 'AUDIO'],
  input_video: ['video', 'VIDEO'],
  output_audio: ['audio', 'AUDIO'],
  cache_write_1h: ['1h', '12h', '24h'],
}
/** An escape, which may be any character. */
const escape = String.raw`\u`

/** Whether an answer to this request may use a kind of tokens. */
export function mayUse(body: Body, unit: UnitName): boolean {
  const words = wordsOf[unit]
  if (!words || body.kind !== 'json') return true
  const { bytes } = body.json
  return words.some(word => bytes.includes(word)) || bytes.includes(escape)
}

/** Types of tools that upstreams run, by prefix, and the unit of their charges. */
const callsOfTools: readonly (readonly [RegExp, UnitName])[] = [
  [/^(?:[a-z]+:)?web_?search/i, 'web_search'],
  [/^google_?search/i, 'grounding'],
  [/^(?:google_?maps|enterprise_?web_?search)/i, 'maps'],
  [/^(?:code_?execution|code_?interpreter)/i, 'code_execution'],
  [/^file_?search/i, 'file_search'],
]
/** Fields that request a search without a tool. */
const searchFields = ['web_search_options', 'search_parameters', 'plugins'] as const

/** The calls that a request allows the upstream to make, with their maximum if the request sets one. */
export function requestedCalls(body: Body): ReadonlyMap<UnitName, number | undefined> {
  const calls = new Map<UnitName, number | undefined>()
  const tools = readField(body, 'tools')
  for (const tool of Array.isArray(tools) ? (tools as readonly Json[]) : []) {
    if (!isObject(tool)) continue
    const { type, max_uses: max } = tool
    // The name of a tool without a type is its only member: `{ googleSearch: {} }`.
    const names = typeof type === 'string' ? [type] : Object.keys(tool)
    if (type === 'shell' && isHosted(tool['environment'])) calls.set('code_execution', undefined)
    for (const [pattern, unit] of callsOfTools)
      if (names.some(name => pattern.test(name.trim())))
        calls.set(unit, typeof max === 'number' && max >= 1 ? Math.floor(max) : undefined)
  }
  for (const field of searchFields) {
    const value = readField(body, field)
    const isRequested = field === 'plugins' ? JSON.stringify(value ?? null).includes('"web"') : isObject(value)
    if (isRequested) calls.set('web_search', undefined)
  }
  return calls
}

/** Whether a shell runs in a container of the upstream; else it runs at the client. */
function isHosted(environment: Json | undefined): boolean {
  return isObject(environment) && environment['type'] !== 'local'
}

/** The kinds of tokens that the request names in a field or a value. */
export function requestedKinds(body: Body): readonly UnitName[] {
  if (body.kind !== 'json') return []
  const kinds: UnitName[] = []
  const modalities = readField(body, 'modalities')
  if (Array.isArray(modalities) && modalities.includes('audio')) kinds.push('output_audio')
  const { bytes } = body.json
  if (bytes.includes('"input_audio"')) kinds.push('input_audio')
  if (bytes.includes('"cache_control"') && bytes.includes('"ttl"') && bytes.includes('"1h"'))
    kinds.push('cache_write_1h')
  return kinds
}
