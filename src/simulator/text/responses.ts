import { randomUUID } from 'node:crypto'
import { type Fields, readFields, readFlag, readInteger, readRequired } from '../request-fields.ts'
import { fail } from '../errors.ts'
import { seedOf } from '../pictures/picture.ts'
import { alphaSize } from '../sizes.ts'
import type { Call } from '../upstream.ts'
import { inputPartsOf } from './input-parts.ts'
import { findKept, keep } from './kept.ts'
import { type Marks, readMarks, type ToolCall } from './marks.ts'
import { perform, type Rehearsed, scriptEvents, scriptJson, writeNamedRecord } from './perform.ts'
import { type Prose, writeJson, writeProse } from './prose.ts'
import { countWords, lastTurn, listOf, type Shape, shapeOf, textOf } from './read.ts'
import { responsesStyle } from './styles.ts'
import { callTool } from './tools.ts'

/**
 * `POST /v1/responses` (`docs/wire.md#usage`): text, function calls, and a picture of family A if the request has the
 * tool `image_generation`, and forces it or has a prompt that mentions a picture.
 */
export const responses = perform(responsesStyle, rehearse)

/** One output of the simulated model: text, a call, a picture in base64, a search, or a compacted conversation. */
type Output =
  | { readonly kind: 'text'; readonly prose: Prose }
  | { readonly kind: 'call'; readonly call: ToolCall }
  | { readonly kind: 'picture'; readonly size: string; readonly base64: string }
  | { readonly kind: 'search'; readonly query: string }
  | { readonly kind: 'compaction' }

/** An output as the response contains it, and its events between the first and the last. */
type Written = { readonly begun: Shape; readonly done: Shape; readonly between: (index: number) => readonly Event[] }
type Event = { readonly type: string; readonly [name: string]: unknown }

async function rehearse(call: Call): Promise<Rehearsed> {
  const fields = readFields(call)
  const model = readRequired(fields, 'model')
  const input = fields.get('input')
  if (input === undefined) throw fail('missing_required_parameter', { name: 'input' }, { param: 'input' })
  const messages = Array.isArray(input) ? input : [input]
  const before = fields.get('previous_response_id')
  if (typeof before === 'string' && !findKept(call, 'response', before))
    throw fail('object_unknown', { message: `Previous response with id '${before}' not found.` })
  const marks = readMarks(textOf(lastTurn(messages)))
  const searches = Array.from({ length: marks.searches }, () => ({ kind: 'search', query: marks.text }) as const)
  const outputs = [...searches, ...(await putOut(call, fields, messages, marks))]
  const truncated = outputs.some(output => output.kind === 'text' && output.prose.truncated)
  const written = outputs.map(writeOutput)
  const open = {
    id: `resp_${randomUUID().replaceAll('-', '')}`,
    object: 'response',
    access_programs: null,
    created_at: Math.floor(call.site.now() / 1000),
    status: 'in_progress',
    error: null,
    incomplete_details: null,
    instructions: fields.get('instructions') ?? null,
    max_output_tokens: fields.get('max_output_tokens') ?? null,
    model,
    output: [],
    parallel_tool_calls: true,
    previous_response_id: fields.get('previous_response_id') ?? null,
    reasoning: { effort: null, summary: null },
    store: fields.get('store') ?? true,
    temperature: fields.get('temperature') ?? 1,
    text: fields.get('text') ?? { format: { type: 'text' } },
    tool_choice: fields.get('tool_choice') ?? 'auto',
    tools: fields.get('tools') ?? [],
    top_p: fields.get('top_p') ?? 1,
    truncation: 'disabled',
    usage: null,
    metadata: fields.get('metadata') ?? {},
  }
  const whole = {
    ...open,
    status: truncated ? 'incomplete' : 'completed',
    incomplete_details: truncated ? { reason: 'max_output_tokens' } : null,
    output: written.map(({ done }) => done),
    usage: usageOf(fields, messages, outputs, marks),
  }
  if (fields.get('background') === true && !readFlag(fields, 'stream')) {
    // The demanded wait delays the work in the background, not the response.
    const queued = { ...open, background: true, status: 'queued' }
    const later = { atMs: call.site.now() + marks.slowMs, value: { ...whole, background: true } }
    keep(call, whole.id, { kind: 'response', value: queued, input: messages, later })
    return { marks: { ...marks, slowMs: 0 }, script: scriptJson(queued) }
  }
  if (fields.get('store') !== false) keep(call, whole.id, { kind: 'response', value: whole, input: messages })
  const script = readFlag(fields, 'stream') ? scriptEvents(writeEvents(open, whole, written)) : scriptJson(whole)
  return { marks, script }
}

const toolOutput = /^(?:custom_tool|function)_call_output$/

async function putOut(
  { site }: Call,
  fields: Fields,
  messages: readonly unknown[],
  marks: Marks,
): Promise<readonly Output[]> {
  if (messages.some(item => shapeOf(item)['type'] === 'compaction_trigger')) return [{ kind: 'compaction' }]
  const tools = listOf(fields.get('tools')).map(shapeOf)
  const wish = fields.get('tool_choice')
  const { type: wanted, name: named } = shapeOf(wish)
  const answered = lastTurn(messages).some(item => toolOutput.test(String(shapeOf(item)['type'])))
  if (!answered && wish !== 'none') {
    const pictures = tools.find(tool => tool['type'] === 'image_generation')
    if (pictures && (wanted === 'image_generation' || /\b(?:draw|picture|image)/i.test(marks.text))) {
      const size = typeof pictures['size'] === 'string' ? pictures['size'] : undefined
      const pixels = alphaSize(size)
      const bytes = await site.paint({ ...pixels, format: 'png', seed: seedOf(marks.text), detail: 3, quality: 100 })
      const picture = {
        kind: 'picture',
        size: `${pixels.width}x${pixels.height}`,
        base64: bytes.toString('base64'),
      } as const
      return [picture, say(fields, marks)]
    }
    const offered = tools.flatMap(({ type, name, parameters }) =>
      type === 'function' && typeof name === 'string' ? [{ name, schema: parameters }] : [],
    )
    const call = callTool(offered, marks, typeof named === 'string' ? named : wish === 'required')
    if (call) return [{ kind: 'call', call }]
  }
  return [say(fields, marks)]
}

function say(fields: Fields, marks: Marks): Output {
  const name = 'max_output_tokens'
  const wordsMax = fields.has(name) ? readInteger(fields, name, { min: 1, max: 999_999_999, otherwise: 1 }) : undefined
  const { type, schema } = shapeOf(shapeOf(fields.get('text'))['format'])
  const isJson = type === 'json_schema' || type === 'json_object'
  return { kind: 'text', prose: isJson ? writeJson(schema, marks, wordsMax) : writeProse(marks, 0, wordsMax) }
}

function usageOf(
  fields: Fields,
  messages: readonly unknown[],
  outputs: readonly Output[],
  marks: Marks,
): { readonly [name: string]: unknown } {
  const input = countWords(textOf(messages)) + countWords(textOf(fields.get('instructions') ?? ''))
  const output = outputs.reduce((sum, one) => sum + tokensOf(one), 0) + marks.reasoningTokens
  const { cached, written } = inputPartsOf(input, marks)
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: marks.reasoningTokens },
    total_tokens: input + output,
  }
}

function tokensOf(output: Output): number {
  if (output.kind === 'text') return output.prose.words.length
  return output.kind === 'call' ? 1 + countWords(JSON.stringify(output.call.input)) : 0
}

function writeOutput(output: Output): Written {
  if (output.kind === 'text') return writeMessage(output.prose)
  if (output.kind === 'search') return writeSearch(output.query)
  if (output.kind === 'compaction') return writeCompaction()
  return output.kind === 'call' ? writeCall(output.call) : writePicture(output.size, output.base64)
}

function writeMessage({ words, text, truncated }: Prose): Written {
  const id = `msg_${randomUUID().replaceAll('-', '')}`
  const message = { id, type: 'message', role: 'assistant' }
  const part = { type: 'output_text', text, annotations: [], logprobs: [] }
  return {
    begun: { ...message, status: 'in_progress', content: [] },
    done: { ...message, status: truncated ? 'incomplete' : 'completed', content: [part] },
    between(index) {
      const place = { item_id: id, output_index: index, content_index: 0 }
      return [
        { type: 'response.content_part.added', ...place, part: { ...part, text: '' } },
        ...words.map((delta, i) => {
          const last = i === words.length - 1
          return { type: 'response.output_text.delta', ...place, delta: last ? delta.trimEnd() : delta, logprobs: [] }
        }),
        { type: 'response.output_text.done', ...place, text, logprobs: [] },
        { type: 'response.content_part.done', ...place, part },
      ]
    },
  }
}

function writeCall({ name, input }: ToolCall): Written {
  const id = `fc_${randomUUID().replaceAll('-', '')}`
  const call = { id, type: 'function_call', call_id: `call_${id.slice(3)}`, name }
  const text = JSON.stringify(input)
  return {
    begun: { ...call, status: 'in_progress', arguments: '' },
    done: { ...call, status: 'completed', arguments: text },
    between: index => [
      { type: 'response.function_call_arguments.delta', item_id: id, output_index: index, delta: text },
      { type: 'response.function_call_arguments.done', item_id: id, output_index: index, name, arguments: text },
    ],
  }
}

function writeSearch(query: string): Written {
  const search = { id: `ws_${randomUUID().replaceAll('-', '')}`, type: 'web_search_call' }
  const step = (index: number, name: string): Event => {
    return { type: `response.web_search_call.${name}`, item_id: search.id, output_index: index }
  }
  return {
    begun: { ...search, status: 'in_progress' },
    done: { ...search, status: 'completed', action: { type: 'search', query } },
    between: index => ['in_progress', 'searching', 'completed'].map(name => step(index, name)),
  }
}

function writeCompaction(): Written {
  const item = { id: `cmp_${randomUUID().replaceAll('-', '')}`, type: 'compaction', encrypted_content: 'compacted' }
  return { begun: item, done: item, between: () => [] }
}

function writePicture(size: string, base64: string): Written {
  const id = `ig_${randomUUID().replaceAll('-', '')}`
  const picture = { id, type: 'image_generation_call' }
  const facts = { action: 'generate', background: 'opaque', output_format: 'png', quality: 'medium', size }
  const step = (index: number, name: string): Event => {
    return { type: `response.image_generation_call.${name}`, item_id: id, output_index: index }
  }
  return {
    begun: { ...picture, status: 'in_progress', result: null },
    done: { ...picture, status: 'completed', ...facts, result: base64 },
    between: index => ['in_progress', 'generating', 'completed'].map(name => step(index, name)),
  }
}

function writeEvents(open: Shape, whole: Shape, outputs: readonly Written[]): string[] {
  const events: Event[] = [
    { type: 'response.created', response: open },
    { type: 'response.in_progress', response: open },
    ...outputs.flatMap(({ begun, done, between }, index): Event[] => [
      { type: 'response.output_item.added', output_index: index, item: begun },
      ...between(index),
      { type: 'response.output_item.done', output_index: index, item: done },
    ]),
    { type: `response.${String(whole['status'])}`, response: whole },
  ]
  return events.map((event, sequence) => writeNamedRecord({ ...event, sequence_number: sequence }))
}
