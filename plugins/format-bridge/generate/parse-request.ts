import type { Json } from '../../../src/plugin-api/index.ts'
import {
  asList,
  asNumber,
  asObject,
  asText,
  checkTypes,
  compact,
  type Conversation,
  type Effort,
  type Feature,
  type FieldTypes,
  isAbsent,
  type JsonObject,
  type Loss,
  type NativeRequest,
  optional,
  type OutputShape,
  type Reasoning,
  RequestFault,
  type Sampling,
  type ServiceTier,
  type Tool,
  type ToolChoice,
  unknownFields,
} from '../neutral/index.ts'
import { camelCased, repeated } from './fields.ts'
import { parseContents, parseSystem } from './parse-contents.ts'
import { jsonSchemaOf } from './schema.ts'

const known: ReadonlySet<string> = new Set([
  ...'contents systemInstruction tools toolConfig generationConfig safetySettings'.split(' '),
  ...'cachedContent labels serviceTier model store'.split(' '),
])

const knownSettings: ReadonlySet<string> = new Set([
  ...'temperature topP topK seed presencePenalty frequencyPenalty candidateCount'.split(' '),
  ...'maxOutputTokens stopSequences responseLogprobs logprobs responseMimeType responseSchema'.split(' '),
  ...'responseJsonSchema responseModalities thinkingConfig mediaResolution speechConfig imageConfig'.split(' '),
])

const numbers =
  'temperature topP topK seed presencePenalty frequencyPenalty candidateCount maxOutputTokens logprobs thinkingBudget'

/** The vendor also reads a number that is written as a text, as in JSON of protocol buffers. */
function withNumbers(settings: JsonObject): JsonObject {
  const read = numbers.split(' ').flatMap((name): readonly (readonly [string, Json])[] => {
    const text = asText(settings[name])?.trim()
    return text && Number.isFinite(Number(text)) ? [[name, Number(text)]] : []
  })
  return read.length === 0 ? settings : { ...settings, ...Object.fromEntries(read) }
}

const types: FieldTypes = { object: 'generationConfig toolConfig', text: 'serviceTier' }
const settingTypes: FieldTypes = {
  number: numbers,
  boolean: 'responseLogprobs',
  text: 'responseMimeType',
  list: 'stopSequences',
  object: 'responseSchema responseJsonSchema thinkingConfig',
}

export function parseRequest({ body: native, stream, issuer }: NativeRequest): Conversation {
  const body = camelCased(native)
  checkTypes(body, types)
  const settings = withNumbers(camelCased(body['generationConfig']))
  checkTypes(settings, settingTypes, 'generationConfig.')
  const losses: Loss[] = []
  const contents = repeated(body['contents'])
  if (!contents) throw new RequestFault('contents', 'a list')
  const stop = asList(settings['stopSequences']).filter(one => typeof one === 'string')
  const tools = parseTools(body['tools'], losses)
  const turns = [...parseSystem(body['systemInstruction'], losses), ...parseContents(contents, { issuer, losses })]
  return {
    turns,
    tools,
    ...optional('toolChoice', parseChoice(body['toolConfig'], losses)),
    ...optional('output', parseOutput(settings)),
    ...optional('reasoning', parseReasoning(settings['thinkingConfig'])),
    ...optional('maxTokens', asNumber(settings['maxOutputTokens'])),
    ...optional('n', asNumber(settings['candidateCount'])),
    sampling: parseSampling(settings),
    ...(stop.length > 0 && { stop }),
    ...(settings['responseLogprobs'] === true && { logprobs: { top: asNumber(settings['logprobs']) ?? 0 } }),
    ...optional('serviceTier', parseTier(body['serviceTier'], losses)),
    stream,
    streamUsage: true,
    losses: [...losses, ...lossesOf(body, settings)],
  }
}

function lossesOf(body: JsonObject, settings: JsonObject): readonly Loss[] {
  const found: Loss[] = []
  const lose = (feature: Feature, field: string, is: boolean): void => {
    if (is) found.push({ feature, field })
  }
  const inSettings = (name: string): string => `generationConfig.${name}`
  const modalities = asList(settings['responseModalities'])
  lose('cached_content', 'cachedContent', !isAbsent(body['cachedContent']))
  lose('safety', 'safetySettings', (repeated(body['safetySettings']) ?? []).length > 0)
  lose('metadata', 'labels', !isAbsent(body['labels']))
  lose('state', 'store', body['store'] === true)
  lose(
    'output_modality',
    inSettings('responseModalities'),
    modalities.some(one => one !== 'TEXT'),
  )
  for (const name of ['speechConfig', 'imageConfig'])
    lose('output_modality', inSettings(name), !isAbsent(settings[name]))
  lose('detail', inSettings('mediaResolution'), !isAbsent(settings['mediaResolution']))
  return [
    ...found,
    ...unknownFields(body, known).map(field => ({ feature: 'unknown_field' as const, field })),
    ...unknownFields(settings, knownSettings).map(name => ({
      feature: 'unknown_field' as const,
      field: inSettings(name),
    })),
  ]
}

function parseTools(value: Json | undefined, losses: Loss[]): readonly Tool[] {
  return (repeated(value) ?? []).flatMap((tool, i) => {
    const { functionDeclarations, ...hosted } = camelCased(tool)
    for (const name of Object.keys(hosted)) {
      const feature = name.startsWith('googleSearch') ? 'web_search' : 'hosted_tool'
      losses.push({ feature, field: `tools[${i}].${name}` })
    }
    return (repeated(functionDeclarations) ?? []).flatMap((one, j) => {
      const own = camelCased(one)
      const name = asText(own['name'])
      if (name === undefined)
        throw new RequestFault(`tools[${i}].functionDeclarations[${j}].name`, 'the name of a function')
      const old = asObject(own['parameters'])
      const schema = asObject(own['parametersJsonSchema']) ?? (old && jsonSchemaOf(old))
      return [
        { name, strict: false, ...optional('description', asText(own['description'])), ...optional('schema', schema) },
      ]
    })
  })
}

function parseChoice(value: Json | undefined, losses: Loss[]): ToolChoice | undefined {
  const config = camelCased(camelCased(value)['functionCallingConfig'])
  const mode = asText(config['mode'])?.toUpperCase()
  const names = asList(config['allowedFunctionNames']).filter(name => typeof name === 'string')
  if (mode === undefined || mode === 'MODE_UNSPECIFIED') return undefined
  if (mode === 'NONE') return { kind: 'none' }
  if (mode === 'ANY') {
    const [only] = names
    if (only !== undefined && names.length === 1) return { kind: 'tool', name: only }
    return names.length > 0 ? { kind: 'allowed', names, isRequired: true } : { kind: 'required' }
  }
  if (mode === 'AUTO' || mode === 'VALIDATED')
    return names.length > 0 ? { kind: 'allowed', names, isRequired: false } : { kind: 'auto' }
  losses.push({ feature: 'tool_choice', field: 'toolConfig.functionCallingConfig.mode' })
  return undefined
}

function parseOutput(settings: JsonObject): OutputShape | undefined {
  const type = asText(settings['responseMimeType'])
  const old = asObject(settings['responseSchema'])
  const schema = asObject(settings['responseJsonSchema']) ?? (old && jsonSchemaOf(old))
  if (type === 'application/json') return schema ? { kind: 'schema', schema, strict: true } : { kind: 'json' }
  if (type === 'text/x.enum' && schema) return { kind: 'schema', schema, strict: true }
  return type === 'text/plain' ? { kind: 'text' } : undefined
}

const efforts: { readonly [level: string]: Effort } = {
  MINIMAL: 'minimal',
  LOW: 'low',
  MEDIUM: 'medium',
  HIGH: 'high',
}

function parseReasoning(value: Json | undefined): Reasoning | undefined {
  const config = withNumbers(camelCased(value))
  checkTypes(config, { number: 'thinkingBudget' }, 'generationConfig.thinkingConfig.')
  const effort = efforts[asText(config['thinkingLevel'])?.toUpperCase() ?? '']
  const budget = asNumber(config['thinkingBudget'])
  const show = config['includeThoughts']
  const reasoning: Reasoning = {
    ...optional('effort', effort),
    ...(budget !== undefined && { budget: budget < 0 ? 'auto' : budget }),
    ...(typeof show === 'boolean' && { show: show ? 'auto' : 'none' }),
  }
  return Object.keys(reasoning).length > 0 ? reasoning : undefined
}

function parseSampling(settings: JsonObject): Sampling {
  return compact({
    temperature: asNumber(settings['temperature']),
    topP: asNumber(settings['topP']),
    topK: asNumber(settings['topK']),
    seed: asNumber(settings['seed']),
    presencePenalty: asNumber(settings['presencePenalty']),
    frequencyPenalty: asNumber(settings['frequencyPenalty']),
  })
}

function parseTier(value: Json | undefined, losses: Loss[]): ServiceTier | undefined {
  const tier = asText(value)
    ?.toLowerCase()
    .replace(/^service_tier_/, '')
  if (tier === undefined || tier === 'unspecified') return undefined
  if (tier === 'flex' || tier === 'standard' || tier === 'priority') return tier
  losses.push({ feature: 'service_tier', field: 'serviceTier' })
  return undefined
}
