import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import t from 'tap'
import { readOpenaiUsage } from '../../src/api-formats/openai-usage.ts'
import type { Json } from '../../src/plugin-api/index.ts'
import { answerOf } from '../../plugins/format-bridge/neutral/index.ts'
import { adapter, type Format, formats, readRecords, translateAnswer, translateStream } from '../harness/translating.ts'
import { vendorAnswers } from '../harness/vendor-answers.ts'

/**
 * Removes the index in call ids: a format without ids numbers calls by position, which counts other parts in a stream.
 */
function withAnyId(value: unknown): object {
  return JSON.parse(JSON.stringify(value).replaceAll(/call_x1_\d/g, 'call_x1')) as object
}

type Members = { readonly [name: string]: Json }

/** Builds the final object that the official SDK makes of a stream. */
const accumulators: { readonly [format in Exclude<Format, 'generate'>]: (text: string) => Promise<unknown> } = {
  chat: text => openai(text).chat.completions.stream({ model: 'm', messages: [] }).finalChatCompletion(),
  responses: text => openai(text).responses.stream({ model: 'm', input: 'x' }).finalResponse(),
  messages: text =>
    new Anthropic({ apiKey: 'k', fetch: answering(text) }).messages
      .stream({ model: 'm', max_tokens: 9, messages: [] })
      .finalMessage(),
}

function openai(text: string): OpenAI {
  return new OpenAI({ apiKey: 'k', fetch: answering(text) })
}

function answering(text: string): typeof fetch {
  return () => Promise.resolve(new Response(text, { headers: { 'content-type': 'text/event-stream' } }))
}

for (const up of formats)
  t.test(`a stream of ${up} equals its complete answer, for every client and its SDK`, async t => {
    for (const step of ['calls', 'final'] as const) {
      const { whole, records } = vendorAnswers[up][step] as unknown as { whole: Members; records: readonly Members[] }
      const ended = [...records, ...(up === 'chat' ? ['[DONE]'] : [])]
      const { id: _, ...streamed } = answerOf(readRecords(up, ended))
      const own = adapter(up).parseAnswer(whole, { issuer: 'up', id: 'x1' })
      const plain = (parts: readonly object[]) => parts.map(part => ({ ...part, seal: undefined }))
      t.same(withAnyId(plain(streamed.parts)), withAnyId(plain(own.parts)), `${step}: parts`)
      t.same([streamed.stop, streamed.usage], [own.stop, own.usage], step)
      for (const down of formats.filter(one => one !== up && one !== 'generate')) {
        const { text, problem } = translateStream(up, ended, down)
        t.equal(problem, undefined, `${step} to ${down}`)
        const final = await accumulators[down as Exclude<Format, 'generate'>](text)
        const expected = translateAnswer(up, whole, down)
        t.match(withAnyId(final), withAnyId(comparable(down, expected)), `${step} to ${down}`)
      }
    }
  })

/** A complete answer without the members that have another form in streams. */
function comparable(format: Format, body: Members): Members {
  if (format === 'chat') {
    const [choice] = body['choices'] as readonly Members[]
    return {
      choices: [{ message: choice?.['message'] ?? {}, finish_reason: choice?.['finish_reason'] ?? '' }],
      usage: body['usage'] ?? {},
    }
  }
  const names = format === 'messages' ? ['content', 'stop_reason', 'usage'] : ['status', 'output', 'usage']
  return Object.fromEntries(names.map(name => [name, body[name] ?? null]))
}

t.test('the usage has the same numbers as the charge, however the vendor counts', async t => {
  const usages: readonly (readonly [name: string, usage: Members, counts: readonly number[]])[] = [
    [
      'reasoning only in the total',
      {
        prompt_tokens: 3,
        completion_tokens: 5,
        total_tokens: 108,
        completion_tokens_details: { reasoning_tokens: 100 },
      },
      [3, 105, 0, 100],
    ],
    [
      'reasoning above the completion, without a total',
      { prompt_tokens: 3, completion_tokens: 5, completion_tokens_details: { reasoning_tokens: 100 } },
      [3, 105, 0, 100],
    ],
    [
      'cached input in a member of its own',
      { prompt_tokens: 30, completion_tokens: 5, total_tokens: 35, prompt_cache_hit_tokens: 20 },
      [30, 5, 20, 0],
    ],
  ]
  for (const [name, usage, [input, output, cached, reasoning]] of usages) {
    const body = { choices: [{ message: { content: 'x' }, finish_reason: 'stop' }], usage }
    const charged = readOpenaiUsage('chat', body)?.counts
    t.match(charged, { input, output }, name)
    t.match(
      translateAnswer('chat', body, 'generate')['usageMetadata'],
      { promptTokenCount: input, candidatesTokenCount: (output ?? 0) - (reasoning ?? 0) },
      name,
    )
    t.match(
      translateAnswer('chat', body, 'messages')['usage'],
      { input_tokens: (input ?? 0) - (cached ?? 0), output_tokens: output, cache_read_input_tokens: cached },
      name,
    )
  }
})

t.test('the last finish reason of a stream counts, because some models repeat the first', async t => {
  const record = (text: string, finishReason: string) => ({
    candidates: [{ content: { parts: [{ text }] }, finishReason }],
  })
  const { records } = translateStream('generate', [record('a', 'STOP'), record('b', 'MAX_TOKENS')], 'chat')
  t.match(records.at(-1), { choices: [{ finish_reason: 'length' }] })
})

t.test('the message of an error is found in the member that some servers of chat completions use', async t => {
  t.match(adapter('chat').parseProblem(400, { detail: 'temperature must be lower' }), {
    status: 400,
    message: 'temperature must be lower',
  })
})
