import t from 'tap'
import { EventReading, JsonReading, type Reading } from '../../plugins/token-usage/reading.ts'
import { apiFormats } from '../../src/api-formats/index.ts'
import type { Json } from '../../src/domain/index.ts'
import type { ApiFormat } from '../../src/plugin-api/index.ts'
import { usageCounts, type UsageCounts } from '../cases/usage-counts.ts'

/** Longer than the limit for parsing at once: its members are read as they pass. */
const padding = 'x'.repeat(40_000)

function readingOf({ dialect, operation }: UsageCounts, isStream: boolean): Reading {
  const options = { dialect: apiFormats.get(dialect) as ApiFormat, operation, bytesPerToken: 4, removesUsage: false }
  return isStream ? new EventReading(options) : new JsonReading(options)
}

function read(one: UsageCounts, text: string, isStream: boolean, size: number) {
  const reading = readingOf(one, isStream)
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) void reading.write(bytes.subarray(at, at + size))
  void reading.end()
  return reading.usage()
}

/** The event that reports the same as a whole answer. */
function eventOf({ operation, body }: UsageCounts): Json {
  return operation === 'responses' ? { type: 'response.completed', response: body } : body
}

t.test('every count and fact of a report is read, from whole answers of any length and from streams', async t => {
  for (const one of usageCounts) {
    const long = { padding, ...one.body, more: [padding] }
    const stream = `data: ${JSON.stringify(eventOf(one))}\n\n`
    const longStream = `data: ${JSON.stringify(eventOf({ ...one, body: { ...one.body, padding: padding.repeat(3) } }))}\n\n`
    const usages = [
      ['whole', read(one, JSON.stringify(one.body), false, 65_536)],
      ['in pieces', read(one, JSON.stringify(one.body), false, 7)],
      ['long', read(one, JSON.stringify(long), false, 1000)],
      ...(one.dialect === 'cohere' ? [] : ([['stream', read(one, stream, true, 11)]] as const)),
      ...(one.dialect === 'cohere' ? [] : ([['long event', read(one, longStream, true, 5000)]] as const)),
    ] as const
    for (const [how, usage] of usages) {
      t.same(usage?.counts, one.counts, `${one.title}: ${how}`)
      t.same(usage?.facts, one.facts ?? {}, `${one.title}: facts, ${how}`)
    }
  }
})

t.test('an unknown count is reported by its name', async t => {
  const report = (usage: Json) => (apiFormats.get('openai') as ApiFormat).usageOf('chat', { usage })
  t.same(report({ prompt_tokens: 1, completion_tokens: 2, hologram_tokens: 3, more: { a: 1 } })?.unread, [
    'hologram_tokens',
  ])
  t.same(report({ prompt_tokens: 1, prompt_tokens_details: { smell_tokens: 3 } })?.unread, ['smell_tokens'])
  t.equal(report({ prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 })?.unread, undefined)
})
