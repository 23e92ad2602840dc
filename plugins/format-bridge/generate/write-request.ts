import {
  allowedTools,
  asObject,
  budgetOf,
  compact,
  type Conversation,
  effortOf,
  type Feature,
  type JsonObject,
  type Loss,
  lostHints,
  type MediaPart,
  namesOfCalls,
  nearestEffort,
  type OutputShape,
  parseJson,
  type Part,
  type Reasoning,
  type ResultPart,
  type Tool,
  type ToolChoice,
  toToolSchema,
  type Turn,
  type UpstreamFacts,
  type WrittenRequest,
} from '../neutral/index.ts'

type Place = { readonly to: UpstreamFacts; readonly losses: Loss[]; readonly names: ReadonlyMap<string, string> }

/** The maximum number of stop sequences in a request. */
const stopMax = 5

/** The vendor's documented value for a call without a signature, which newer models would otherwise refuse. */
const noSignature = 'skip_thought_signature_validator'

/** The features that this format supports. */
export const carries: ReadonlySet<Feature> = new Set([
  ...(['stop', 'service_tier', 'media', 'media_link', 'output_schema', 'json_output', 'tool_choice'] as const),
  ...(['logprobs', 'result_media', 'sampling', 'top_k', 'seed', 'penalties', 'reasoning', 'thought'] as const),
])

export function writeRequest(conversation: Conversation, to: UpstreamFacts): WrittenRequest {
  const place: Place = { to, losses: [], names: namesOfCalls(conversation) }
  const { stop, serviceTier, toolChoice } = conversation
  const first = conversation.turns.findIndex(turn => turn.role !== 'system')
  const system = first === -1 ? conversation.turns : conversation.turns.slice(0, first)
  const instructions = system.flatMap(turn => writeParts(turn.parts, place))
  const turns = first === -1 ? [] : conversation.turns.slice(first)
  const tools = allowedTools(conversation)
  const body = compact({
    systemInstruction: instructions.length > 0 ? { parts: instructions } : undefined,
    contents: turns.map(turn => writeTurn(turn, place)).filter(content => content.parts.length > 0),
    tools: tools.length > 0 ? [{ functionDeclarations: tools.map(writeTool) }] : undefined,
    toolConfig: tools.length > 0 && toolChoice ? { functionCallingConfig: writeChoice(toolChoice) } : undefined,
    generationConfig: writeSettings(conversation, place),
    serviceTier: serviceTier === undefined || serviceTier === 'auto' ? undefined : serviceTier,
  })
  if (stop && stop.length > stopMax) place.losses.push({ feature: 'stop' })
  const { temperature, topP, topK } = conversation.sampling
  if (!to.sampling && [temperature, topP, topK].some(one => one !== undefined))
    place.losses.push({ feature: 'sampling' })
  if (conversation.tools.some(tool => tool.strict)) place.losses.push({ feature: 'strict' })
  return { body, losses: [...place.losses, ...lostHints(conversation, carries)] }
}

function writeTool({ name, description, schema }: Tool): JsonObject {
  return compact({ name, description, parametersJsonSchema: schema && toToolSchema(schema) })
}

function writeChoice(choice: ToolChoice): JsonObject {
  if (choice.kind === 'none') return { mode: 'NONE' }
  if (choice.kind === 'required') return { mode: 'ANY' }
  if (choice.kind === 'tool') return { mode: 'ANY', allowedFunctionNames: [choice.name] }
  if (choice.kind === 'allowed' && choice.isRequired) return { mode: 'ANY', allowedFunctionNames: choice.names }
  return { mode: 'AUTO' }
}

function writeSettings(conversation: Conversation, { to, losses }: Place): JsonObject | undefined {
  const { sampling, stop, logprobs, maxTokens } = conversation
  const settings = compact({
    ...(to.sampling && { temperature: sampling.temperature, topP: sampling.topP, topK: sampling.topK }),
    presencePenalty: sampling.presencePenalty,
    frequencyPenalty: sampling.frequencyPenalty,
    seed: sampling.seed,
    maxOutputTokens: maxTokens,
    stopSequences: stop?.slice(0, stopMax),
    responseLogprobs: logprobs && true,
    logprobs: logprobs && logprobs.top > 0 ? logprobs.top : undefined,
    ...writeOutput(conversation.output),
    thinkingConfig: conversation.reasoning && writeReasoning(conversation.reasoning, to, losses),
  })
  return Object.keys(settings).length > 0 ? settings : undefined
}

function writeOutput(output: OutputShape | undefined): JsonObject {
  if (!output || output.kind === 'text') return {}
  if (output.kind === 'json') return { responseMimeType: 'application/json' }
  return { responseMimeType: 'application/json', responseJsonSchema: output.schema }
}

function writeReasoning(reasoning: Reasoning, to: UpstreamFacts, losses: Loss[]): JsonObject | undefined {
  const effort = effortOf(reasoning)
  if (to.reasoning === 'none') {
    if (effort !== undefined && effort !== 'none') losses.push({ feature: 'reasoning' })
    return undefined
  }
  const includeThoughts = reasoning.show === undefined ? undefined : reasoning.show !== 'none'
  const config = compact({ ...writeAmount(reasoning, to), includeThoughts })
  return Object.keys(config).length > 0 ? config : undefined
}

function writeAmount(reasoning: Reasoning, { reasoning: means, efforts }: UpstreamFacts): JsonObject {
  if (reasoning.budget === 'auto') return means === 'budget' ? { thinkingBudget: -1 } : {}
  if (means === 'budget') return compact({ thinkingBudget: budgetOf(reasoning) })
  const effort = effortOf(reasoning)
  if (effort === undefined) return {}
  const nearest = nearestEffort(effort, efforts)
  return nearest === 'none' ? { thinkingBudget: 0 } : { thinkingLevel: nearest.toUpperCase() }
}

function writeTurn(turn: Turn, place: Place): { readonly role: string; readonly parts: readonly JsonObject[] } {
  if (turn.role === 'assistant') return { role: 'model', parts: writeAnswerParts(turn.parts, place) }
  if (turn.role === 'user') return { role: 'user', parts: writeParts(turn.parts, place) }
  // In this format, instructions have one place, before all turns. Later ones stay in their position with a mark.
  return {
    role: 'user',
    parts: writeParts(turn.parts.map(marked), place),
  }
}

function marked(part: Part): Part {
  return part.kind === 'text' ? { ...part, text: `<system>\n${part.text}\n</system>` } : part
}

/** All results of a step are in one turn, followed by the media that tools returned. */
function writeParts(parts: readonly Part[], place: Place): readonly JsonObject[] {
  const results = parts.filter(part => part.kind === 'result')
  const shown = results.flatMap(result => result.parts.filter(part => part.kind === 'media'))
  const others = [...shown, ...parts.filter(part => part.kind !== 'result')]
  return [
    ...results.map(result => writeResult(result, place)),
    ...others.flatMap(part => {
      if (part.kind === 'text') return part.text === '' ? [] : [{ text: part.text }]
      if (part.kind === 'media') return writeMedia(part, place)
      place.losses.push({ feature: 'unknown_part' })
      return []
    }),
  ]
}

function writeResult({ id, name, parts, failed }: ResultPart, { names }: Place): JsonObject {
  const text = parts.map(part => (part.kind === 'text' ? part.text : '')).join('')
  const object = asObject(parseJson(text))
  const response = failed ? { error: text } : object && JSON.stringify(object) === text ? object : { output: text }
  return { functionResponse: { id, name: name ?? names.get(id) ?? id, response } }
}

function writeMedia({ source, mime, media }: MediaPart, { to, losses }: Place): readonly JsonObject[] {
  if (source.kind === 'text') return [{ text: source.text }]
  if (source.kind === 'bytes') return [{ inlineData: { mimeType: mime ?? mimeOf(media), data: source.base64 } }]
  if (source.kind === 'link' && to.links)
    return [{ fileData: { fileUri: source.url, mimeType: mime ?? mimeOf(media, source.url) } }]
  losses.push({ feature: source.kind === 'link' ? 'media_link' : 'vendor_file' })
  return []
}

const mimes: { readonly [ending: string]: string } = {
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  png: 'image/png',
}

/**
 * The format requires a media type, which links in other formats do not have. It is guessed from the file extension.
 */
function mimeOf(media: MediaPart['media'], url = ''): string {
  if (media === 'document') return 'application/pdf'
  if (media === 'audio') return 'audio/wav'
  if (media === 'video') return 'video/mp4'
  return mimes[/\.([a-z]+)(?:[?#]|$)/.exec(url.toLowerCase())?.[1] ?? ''] ?? 'image/png'
}

/**
 * A hidden thought before a call is the signature of that call, because other formats have no field for it in the call.
 */
function writeAnswerParts(parts: readonly Part[], place: Place): readonly JsonObject[] {
  const { to, losses } = place
  const written: JsonObject[] = []
  let waiting: string | undefined
  let isFirstCall = true
  for (const part of parts) {
    const own = 'seal' in part && part.seal?.issuer === to.issuer ? part.seal.value : undefined
    if (part.kind === 'thought') {
      if (own === undefined) losses.push({ feature: 'thought' })
      else if (part.text === '') waiting = own
      else written.push({ text: part.text, thought: true, thoughtSignature: own })
      continue
    }
    if (part.kind === 'call') {
      const missing = to.reasoning === 'effort' && isFirstCall ? noSignature : undefined
      written.push(writeCall(part.id, part.name, part.arguments, own ?? waiting ?? missing))
      waiting = undefined
      isFirstCall = false
      continue
    }
    if (waiting !== undefined) written.push({ text: '', thoughtSignature: waiting })
    waiting = undefined
    if (part.kind === 'text' || part.kind === 'refusal')
      written.push(compact({ text: part.text, thoughtSignature: own }))
    else if (part.kind === 'media') written.push(...writeMedia(part, place))
    else losses.push({ feature: 'unknown_part' })
  }
  if (waiting !== undefined) written.push({ text: '', thoughtSignature: waiting })
  return written

  function writeCall(id: string, name: string, text: string, thoughtSignature: string | undefined): JsonObject {
    const args = asObject(parseJson(text === '' ? '{}' : text))
    if (!args) losses.push({ feature: 'call_arguments', field: `the arguments of ${name}` })
    return compact({ functionCall: { id, name, args: args ?? {} }, thoughtSignature })
  }
}
