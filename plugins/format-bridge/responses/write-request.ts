import type { Json } from '../../../src/plugin-api/index.ts'
import {
  asObject,
  type CallPart,
  compact,
  type Conversation,
  dataUrl,
  effortOf,
  fitsStrict,
  type Feature,
  type JsonObject,
  type Loss,
  lostHints,
  type MediaPart,
  nearestEffort,
  type OutputShape,
  type Part,
  type Reasoning,
  type ResultPart,
  type Tool,
  type ToolChoice,
  toToolSchema,
  type Turn,
  type UpstreamFacts,
  userWithin,
  type WrittenRequest,
} from '../neutral/index.ts'
import { userCharsMax, writeSchema, writeTier } from '../openai/settings.ts'

type Place = { readonly to: UpstreamFacts; readonly losses: Loss[] }

/** The features that this format supports. */
export const carries: ReadonlySet<Feature> = new Set([
  ...(['service_tier', 'media', 'media_link', 'output_schema', 'json_output', 'tool_choice'] as const),
  ...(['parallel_calls', 'logprobs', 'result_media', 'sampling', 'verbosity', 'reasoning', 'thought'] as const),
  ...(['cache_key', 'detail', 'media_name', 'grammar', 'strict', 'user'] as const),
])

/** The vendor stores nothing: the client sends the complete conversation, and gets the reasoning in encrypted form. */
export function writeRequest(conversation: Conversation, to: UpstreamFacts): WrittenRequest {
  const place: Place = { to, losses: [] }
  const { sampling, logprobs, stream, tools, toolChoice, turns } = conversation
  const first = turns[0]
  const instructions =
    first?.role === 'system' && first.parts.every(part => part.kind === 'text')
      ? first.parts.map(part => part.text).join('\n\n')
      : undefined
  const include = [
    ...(to.reasoning === 'none' ? [] : ['reasoning.encrypted_content']),
    ...(logprobs ? ['message.output_text.logprobs'] : []),
  ]
  const text = compact({ format: writeOutput(conversation.output, place), verbosity: conversation.verbosity })
  const body = compact({
    model: to.model,
    instructions,
    input: (instructions === undefined ? turns : turns.slice(1)).flatMap(turn => writeTurn(turn, place)),
    tools: tools.length > 0 ? tools.map(tool => writeTool(tool, place.losses)) : undefined,
    tool_choice: tools.length > 0 && toolChoice ? writeChoice(toolChoice, tools) : undefined,
    parallel_tool_calls: tools.length > 0 ? conversation.parallelCalls : undefined,
    text: Object.keys(text).length > 0 ? text : undefined,
    reasoning: conversation.reasoning && writeReasoning(conversation.reasoning, place),
    max_output_tokens: conversation.maxTokens,
    ...(to.sampling && { temperature: sampling.temperature, top_p: sampling.topP }),
    top_logprobs: logprobs && logprobs.top > 0 ? logprobs.top : undefined,
    service_tier: writeTier(conversation.serviceTier),
    prompt_cache_key: conversation.cacheKey,
    safety_identifier: conversation.user && userWithin(conversation.user, userCharsMax),
    include: include.length > 0 ? include : undefined,
    store: false,
    stream: stream || undefined,
  })
  const { temperature, topP, presencePenalty, frequencyPenalty } = sampling
  if (!to.sampling && (temperature !== undefined || topP !== undefined)) place.losses.push({ feature: 'sampling' })
  if (presencePenalty !== undefined || frequencyPenalty !== undefined) place.losses.push({ feature: 'penalties' })
  return { body, losses: [...place.losses, ...lostHints(conversation, carries)] }
}

export function writeTool({ name, description, schema, strict, freeform }: Tool, losses: Loss[]): JsonObject {
  if (freeform) {
    const own = asObject(freeform.grammar?.['grammar'])
    return compact({ type: 'custom', name, description, format: own ? { type: 'grammar', ...own } : { type: 'text' } })
  }
  const parameters = toToolSchema(schema)
  const isStrict = strict && fitsStrict(parameters)
  if (strict && !isStrict) losses.push({ feature: 'strict' })
  // `strict` is always written, because its default is true here, and makes optional arguments required.
  return compact({ type: 'function', name, description, parameters, strict: isStrict })
}

export function writeChoice(choice: ToolChoice, tools: readonly Tool[]): Json {
  const named = (name: string): JsonObject => ({
    type: tools.some(tool => tool.name === name && tool.freeform) ? 'custom' : 'function',
    name,
  })
  if (choice.kind === 'tool') return named(choice.name)
  if (choice.kind !== 'allowed') return choice.kind
  return { type: 'allowed_tools', mode: choice.isRequired ? 'required' : 'auto', tools: choice.names.map(named) }
}

function writeOutput(output: OutputShape | undefined, { losses }: Place): Json | undefined {
  if (!output || output.kind === 'text') return undefined
  if (output.kind === 'json') return { type: 'json_object' }
  return { type: 'json_schema', ...writeSchema(output, losses) }
}

function writeReasoning(reasoning: Reasoning, { to, losses }: Place): Json | undefined {
  const effort = effortOf(reasoning)
  if (to.reasoning === 'none') {
    if (effort !== undefined && effort !== 'none') losses.push({ feature: 'reasoning' })
    return undefined
  }
  const { show } = reasoning
  const own = compact({
    effort: effort === undefined ? undefined : nearestEffort(effort, to.efforts),
    summary: show === 'none' ? undefined : show,
  })
  return Object.keys(own).length > 0 ? own : undefined
}

function writeTurn(turn: Turn, place: Place): readonly JsonObject[] {
  if (turn.role === 'assistant') return writeAssistant(turn.parts, place)
  if (turn.role === 'system') return [{ type: 'message', role: 'developer', content: writeContent(turn.parts, place) }]
  const results = turn.parts.filter(part => part.kind === 'result')
  const others = turn.parts.filter(part => part.kind !== 'result')
  const items = results.map(result => writeResult(result, place))
  if (others.length === 0) return items
  return [...items, { type: 'message', role: 'user', content: writeContent(others, place) }]
}

/** Consecutive texts are one message. Thoughts and calls are separate items, in their positions. */
function writeAssistant(parts: readonly Part[], place: Place): readonly JsonObject[] {
  const items: JsonObject[] = []
  let content: JsonObject[] = []
  const close = (): void => {
    if (content.length > 0) items.push({ type: 'message', role: 'assistant', content })
    content = []
  }
  for (const part of parts) {
    if (part.kind === 'text') content.push({ type: 'output_text', text: part.text, annotations: [] })
    else if (part.kind === 'refusal') content.push({ type: 'refusal', refusal: part.text })
    else {
      close()
      items.push(...writeItem(part, place))
    }
  }
  close()
  return items
}

function writeItem(part: Part, { to, losses }: Place): readonly JsonObject[] {
  if (part.kind === 'call') return [writeCall(part)]
  if (part.kind === 'thought' && part.seal?.issuer === to.issuer) {
    const summary = part.text === '' ? [] : [{ type: 'summary_text', text: part.text }]
    return [{ type: 'reasoning', summary, encrypted_content: part.seal.value }]
  }
  losses.push({ feature: part.kind === 'thought' ? 'thought' : part.kind === 'media' ? 'media' : 'unknown_part' })
  return []
}

function writeCall({ id, name, arguments: text, freeform }: CallPart): JsonObject {
  if (freeform) return { type: 'custom_tool_call', call_id: id, name, input: text }
  return { type: 'function_call', call_id: id, name, arguments: text === '' ? '{}' : text }
}

function writeResult({ id, parts, failed, freeform }: ResultPart, place: Place): JsonObject {
  const hasMedia = parts.some(part => part.kind === 'media')
  const mark = failed ? 'Error: ' : ''
  const text = parts.map(part => (part.kind === 'text' ? part.text : '')).join('')
  const marked: readonly Part[] = failed ? [{ kind: 'text', text: mark.trim() }, ...parts] : parts
  const output = hasMedia ? writeContent(marked, place) : mark + text
  return { type: freeform ? 'custom_tool_call_output' : 'function_call_output', call_id: id, output }
}

function writeContent(parts: readonly Part[], place: Place): readonly JsonObject[] {
  return parts.flatMap(part => {
    if (part.kind === 'text') return part.text === '' ? [] : [{ type: 'input_text', text: part.text }]
    if (part.kind === 'media') return writeMedia(part, place)
    place.losses.push({ feature: 'unknown_part' })
    return []
  })
}

function writeMedia({ media, source, mime, name, detail }: MediaPart, { to, losses }: Place): readonly JsonObject[] {
  if (source.kind === 'text')
    return [{ type: 'input_text', text: name === undefined ? source.text : `${name}\n\n${source.text}` }]
  if (source.kind === 'file' || (source.kind === 'link' && !to.links)) {
    losses.push({ feature: source.kind === 'file' ? 'vendor_file' : 'media_link' })
    return []
  }
  if (media === 'image') {
    const url = source.kind === 'link' ? source.url : dataUrl(mime ?? 'image/png', source.base64)
    return [{ type: 'input_image', image_url: url, detail: detail ?? 'auto' }]
  }
  if (media !== 'document') {
    losses.push({ feature: 'media' })
    return []
  }
  if (source.kind === 'link') return [{ type: 'input_file', file_url: source.url }]
  if (mime?.startsWith('text/')) return [{ type: 'input_text', text: Buffer.from(source.base64, 'base64').toString() }]
  const file_data = dataUrl(mime ?? 'application/pdf', source.base64)
  return [{ type: 'input_file', filename: name ?? 'document.pdf', file_data }]
}
