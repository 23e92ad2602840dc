import { randomUUID } from 'node:crypto'
import { type Fields, readFields, readFlag, readInteger, readRequired } from '../request-fields.ts'
import { fail } from '../errors.ts'
import type { Call } from '../upstream.ts'
import { inputPartsOf } from './input-parts.ts'
import { type Marks, readMarks, type ToolCall } from './marks.ts'
import { perform, type Rehearsed, scriptEvents, scriptJson, writeNamedRecord } from './perform.ts'
import { type Prose, writeJson, writeProse } from './prose.ts'
import { countWords, lastTurn, listOf, readList, type Shape, shapeOf, textOf } from './read.ts'
import { anthropicStyle } from './styles.ts'
import { callTool } from './tools.ts'

/** `POST /v1/messages` (`docs/wire.md#usage`). */
export const messages = perform(anthropicStyle, rehearseMessage)
/** `POST /v1/messages/count_tokens`. */
export const countTokens = perform(anthropicStyle, rehearseCount)

/** Versions from this one on refuse sampling parameters. */
const strictVersion = '2026-10-21'

function rehearseMessage(call: Call): Rehearsed {
  const fields = readFields(call)
  refuseByVersion(call, fields)
  const model = readRequired(fields, 'model')
  const wordsMax = readMax(fields)
  const list = readList(fields, 'messages')
  const turn = lastTurn(list)
  const marks = readMarks(textOf(turn))
  const tool = callOf(fields, turn, marks)
  const format = formatOf(fields)
  const prose = format ? writeJson(format['schema'], marks, wordsMax) : writeProse(marks, 0, wordsMax)
  const input = countInput(fields, list)
  const read = readTokens(input, marks)
  const words = tool ? 1 + countWords(JSON.stringify(tool.input)) : prose.words.length
  const thinking = marks.reasoningTokens
  const written = {
    output_tokens: words + thinking,
    ...(thinking > 0 && { output_tokens_details: { thinking_tokens: thinking } }),
  }
  const open = {
    id: `msg_${randomUUID().replaceAll('-', '')}`,
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { ...read, output_tokens: 1, service_tier: 'standard' },
  }
  const end = { stop_reason: stopOf(prose, tool), stop_sequence: null }
  const block = tool
    ? { type: 'tool_use', id: `toolu_${randomUUID()}`, name: tool.name, input: tool.input }
    : { type: 'text', text: prose.text }
  if (readFlag(fields, 'stream')) {
    return { marks, script: scriptEvents(writeEvents(open, block, prose, end, { ...read, ...written })) }
  }
  const usage = { ...open.usage, ...written }
  return { marks, script: scriptJson({ ...open, content: [block], ...end, usage }) }
}

/** The usage of input tokens and of web searches. */
function readTokens(input: number, marks: Marks): object {
  const { cached, written, writtenHour } = inputPartsOf(input, marks)
  return {
    input_tokens: input - cached - written,
    cache_creation_input_tokens: written,
    cache_creation: { ephemeral_5m_input_tokens: written - writtenHour, ephemeral_1h_input_tokens: writtenHour },
    cache_read_input_tokens: cached,
    ...(marks.searches > 0 && { server_tool_use: { web_search_requests: marks.searches } }),
  }
}

function rehearseCount(call: Call): Rehearsed {
  const fields = readFields(call)
  refuseByVersion(call, fields)
  readRequired(fields, 'model')
  const list = readList(fields, 'messages')
  const marks = readMarks(textOf(list.at(-1)))
  return { marks, script: scriptJson({ input_tokens: countInput(fields, list) }) }
}

function refuseByVersion({ headers }: Call, fields: Fields): void {
  const version = headers['anthropic-version']
  if (version === undefined) throw fail('missing_header', { name: 'anthropic-version' })
  if (version < strictVersion) return
  for (const name of ['temperature', 'top_p', 'top_k'])
    if (fields.has(name)) throw fail('unsupported_in_version', { name, version })
}

function readMax(fields: Fields): number {
  const name = 'max_tokens'
  if (!fields.has(name)) throw fail('missing_required_parameter', { name }, { param: name })
  return readInteger(fields, name, { min: 1, max: 999_999_999, otherwise: 1 })
}

function countInput(fields: Fields, list: readonly unknown[]): number {
  return countWords(textOf(list)) + countWords(textOf(fields.get('system') ?? ''))
}

function callOf(fields: Fields, turn: readonly unknown[], marks: Marks): ToolCall | undefined {
  const tools = listOf(fields.get('tools')).flatMap(one => {
    const { name, input_schema: schema } = shapeOf(one)
    return typeof name === 'string' ? [{ name, schema }] : []
  })
  const { type, name } = shapeOf(fields.get('tool_choice'))
  const blocks = turn.flatMap(message => listOf(shapeOf(message)['content']))
  const answered = blocks.some(block => shapeOf(block)['type'] === 'tool_result')
  if (answered || type === 'none') return undefined
  return callTool(tools, marks, typeof name === 'string' ? name : type === 'any')
}

/** The schema in its present field, or in the former one. */
function formatOf(fields: Fields): Shape | undefined {
  const format = shapeOf(shapeOf(fields.get('output_config'))['format'] ?? fields.get('output_format'))
  return format['type'] === 'json_schema' ? format : undefined
}

function stopOf(prose: Prose, tool: ToolCall | undefined): string {
  if (tool) return 'tool_use'
  return prose.truncated ? 'max_tokens' : 'end_turn'
}

/** The first event has the usage of the input; the last but one has the whole usage. */
function writeEvents(open: Shape, block: Shape, prose: Prose, end: Shape, usage: Shape): string[] {
  const isTool = block['type'] === 'tool_use'
  const deltas: readonly object[] = isTool
    ? [{ type: 'input_json_delta', partial_json: JSON.stringify(block['input']) }]
    : prose.words.map((text, i) => {
        return { type: 'text_delta', text: i === prose.words.length - 1 ? text.trimEnd() : text }
      })
  return [
    { type: 'message_start', message: open },
    { type: 'content_block_start', index: 0, content_block: { ...block, ...(isTool ? { input: {} } : { text: '' }) } },
    { type: 'ping' },
    ...deltas.map(delta => ({ type: 'content_block_delta', index: 0, delta })),
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: end, usage },
    { type: 'message_stop' },
  ].map(writeNamedRecord)
}
