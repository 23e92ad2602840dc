import { randomUUID } from 'node:crypto'
import { type Fields, readFields, readFlag, readInteger, readRequired } from '../request-fields.ts'
import { fail } from '../errors.ts'
import type { Call } from '../upstream.ts'
import { inputPartsOf } from './input-parts.ts'
import { type Marks, readMarks, type ToolCall } from './marks.ts'
import { perform, type Rehearsed, scriptEvents, scriptJson, writeRecord } from './perform.ts'
import { type Prose, splitProse, writeJson, writeProse } from './prose.ts'
import { countWords, lastTurn, listOf, readList, shapeOf, textOf } from './read.ts'
import { openaiStyle } from './styles.ts'
import { callTool } from './tools.ts'

/** `POST /v1/chat/completions` (`docs/wire.md#usage`). */
export const chat = perform(openaiStyle, rehearseChat)

type Choice = { readonly prose: Prose; readonly call: ToolCall | undefined }

function rehearseChat(call: Call): Rehearsed {
  const fields = readFields(call)
  const model = readRequired(fields, 'model')
  const messages = readList(fields, 'messages')
  const count = readInteger(fields, 'n', { min: 1, max: 128, otherwise: 1 })
  const marks = readMarks(textOf(lastTurn(messages)))
  const choices = Array.from({ length: count }, (_, index) => choose(fields, marks, index))
  const usage = usageOf(messages, choices, marks)
  const one = {
    id: `chatcmpl-${randomUUID()}`,
    created: Math.floor(call.site.now() / 1000),
    model,
    service_tier: 'default',
    system_fingerprint: 'fp_simulated',
  }
  if (readFlag(fields, 'stream')) {
    const includesUsage = shapeOf(fields.get('stream_options'))['include_usage'] === true
    return { marks, script: scriptEvents(writeChunks(one, choices, includesUsage ? usage : undefined)) }
  }
  if (fields.has('stream_options')) {
    const params = { name: 'stream_options', found: '…', expected: 'none unless stream is true' }
    throw fail('invalid_value', params, { param: 'stream_options' })
  }
  return { marks, script: scriptJson({ ...one, object: 'chat.completion', choices: choices.map(writeChoice), usage }) }
}

function choose(fields: Fields, marks: Marks, index: number): Choice {
  const { type, json_schema: named } = shapeOf(fields.get('response_format'))
  const max = fields.has('max_completion_tokens') ? 'max_completion_tokens' : 'max_tokens'
  const wordsMax = fields.has(max) ? readInteger(fields, max, { min: 1, max: 999_999_999, otherwise: 1 }) : undefined
  const call = callOf(fields, marks)
  if (call) return { call, prose: splitProse('', undefined) }
  if (type !== 'json_schema' && type !== 'json_object') return { call, prose: writeProse(marks, index, wordsMax) }
  return { call, prose: writeJson(shapeOf(named)['schema'], marks, wordsMax) }
}

function callOf(fields: Fields, marks: Marks): ToolCall | undefined {
  const tools = listOf(fields.get('tools')).flatMap(tool => {
    const { name, parameters } = shapeOf(shapeOf(tool)['function'])
    return typeof name === 'string' ? [{ name, schema: parameters }] : []
  })
  const wish = fields.get('tool_choice')
  const named = shapeOf(shapeOf(wish)['function'])['name']
  const answered = lastTurn(listOf(fields.get('messages'))).some(message => shapeOf(message)['role'] === 'tool')
  if (answered || wish === 'none') return undefined
  return callTool(tools, marks, typeof named === 'string' ? named : wish === 'required')
}

function usageOf(messages: readonly unknown[], choices: readonly Choice[], marks: Marks): object {
  const prompt = countWords(textOf(messages))
  const { cached, written, audio } = inputPartsOf(prompt, marks)
  const words = choices.reduce((sum, { prose, call }) => sum + prose.words.length + (call ? wordsOf(call) : 0), 0)
  const completion = words + marks.reasoningTokens
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: {
      cached_tokens: cached,
      cache_write_tokens: written,
      audio_tokens: audio,
    },
    completion_tokens_details: {
      reasoning_tokens: marks.reasoningTokens,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  }
}

function wordsOf(call: ToolCall): number {
  return 1 + countWords(JSON.stringify(call.input))
}

function writeChoice({ prose, call }: Choice, index: number): object {
  const message = {
    role: 'assistant',
    content: call ? null : prose.text,
    refusal: null,
    annotations: [],
    ...(call && { tool_calls: [writeCall(call)] }),
  }
  return { index, message, logprobs: null, finish_reason: finishOf({ prose, call }) }
}

function writeCall({ name, input }: ToolCall): object {
  return { id: `call_${randomUUID()}`, type: 'function', function: { name, arguments: JSON.stringify(input) } }
}

function finishOf({ prose, call }: Choice): string {
  if (call) return 'tool_calls'
  return prose.truncated ? 'length' : 'stop'
}

/** If the client requested the usage, the last record but one has it, and all others have `usage: null`. */
function writeChunks(one: object, choices: readonly Choice[], usage: object | undefined): string[] {
  const chunk = (rest: object): string =>
    writeRecord({ ...one, object: 'chat.completion.chunk', ...(usage && { usage: null }), ...rest })
  const piece = (index: number, delta: object, finish: string | null = null): string =>
    chunk({ choices: [{ index, delta, logprobs: null, finish_reason: finish }] })
  return [
    ...choices.flatMap((choice, index) => [
      piece(index, { role: 'assistant', content: choice.call ? null : '', refusal: null }),
      ...deltasOf(choice).map(delta => piece(index, delta)),
      piece(index, {}, finishOf(choice)),
    ]),
    ...(usage ? [chunk({ choices: [], usage })] : []),
    'data: [DONE]\n\n',
  ]
}

function deltasOf({ prose, call }: Choice): readonly object[] {
  if (!call) return trimLast(prose.words).map(content => ({ content }))
  const { name, input } = call
  const text = JSON.stringify(input)
  const begun = { index: 0, id: `call_${randomUUID()}`, type: 'function', function: { name, arguments: '' } }
  const parts = [text.slice(0, text.length >> 1), text.slice(text.length >> 1)]
  return [
    { tool_calls: [begun] },
    ...parts.map(part => ({ tool_calls: [{ index: 0, function: { arguments: part } }] })),
  ]
}

/** Removes the blank at the end, so that the text of a stream equals the text of a whole answer. */
function trimLast(words: readonly string[]): readonly string[] {
  return words.map((word, i) => (i === words.length - 1 ? word.trimEnd() : word))
}
