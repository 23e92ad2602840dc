import type { ServerResponse } from 'node:http'
import t from 'tap'
import type { Answer } from '../../plugins/format-bridge/neutral/index.ts'
import { caseName } from '../harness/case-name.ts'
import { askOf, startFour, vendorAnswer } from '../harness/four-formats.ts'
import { type Format, formats } from '../harness/translating.ts'

/**
 * `npm run test:streams` cuts at every byte; the suite cuts each stream at some bytes, and at all bytes near its last
 * event.
 */
const isLong = process.env['EVERY_CUT'] !== undefined
if (isLong) t.setTimeout(0)
const strideOf = (length: number): number => (isLong ? 1 : Math.ceil(length / 3))

const answer: Answer = {
  parts: [
    { kind: 'text', text: 'Both, 🌍 ' },
    { kind: 'call', id: 'call_1', name: 'look', arguments: '{"city":"Paris"}' },
    { kind: 'call', id: 'call_2', name: 'look', arguments: '{"city":"Rome"}' },
  ],
  stop: { why: 'calls' },
  usage: { input: 30, output: 12, cacheRead: 10 },
}

/** The last event of a complete stream, and an error, in each client's format. */
const signs: { readonly [format in Format]: { readonly end: RegExp; readonly error: RegExp } } = {
  chat: { end: /^data: \[DONE\]$/m, error: /^data: \{"error":\{"message"/m },
  responses: { end: /"type":"response\.(?:completed|incomplete)"/, error: /"type":"response\.failed"/ },
  messages: { end: /"type":"message_stop"/, error: /^event: error$/m },
  generate: { end: /"finishReason"/, error: /^data: \{"error":\{"code":5\d\d/m },
}

/** The position at which the last event of a stream is complete: any end before it is a cut. */
function lastByteOf(format: Format, records: readonly string[]): number {
  // Chat completions are complete with their usage; some vendors omit the sentinel.
  const last = format === 'chat' ? records.length - 2 : records.length - 1
  return Buffer.byteLength(records.slice(0, last + 1).join('')) - '\n\n'.length
}

for (const upstream of formats)
  t.test(`a stream of ${upstream} that is cut is an error for every client, charged as a native one`, async t => {
    const started = await startFour(t)
    const { records } = vendorAnswer(upstream, answer)
    const bytes = Buffer.from(records.join(''))
    const last = lastByteOf(upstream, records)
    const cuts = new Set([bytes.length, last, last - 1])
    for (let at = 0; at < last; at += strideOf(last)) cuts.add(at)
    const ids: { readonly id: string; readonly name: string; readonly native: string }[] = []
    for (const at of cuts)
      for (const isTorn of at < last && (isLong || at > 0) ? [false, true] : [false]) {
        started.upstream.answer((res: ServerResponse) => {
          res.writeHead(200, { 'content-type': 'text/event-stream' })
          res.write(bytes.subarray(0, at), () => (isTorn ? res.destroy() : res.end()))
        })
        let native = ''
        for (const client of [upstream, ...formats.filter(one => one !== upstream)]) {
          const name = caseName({ upstream, client, at, of: last, isTorn })
          const [path, body] = askOf(client, `up-${upstream}`, true)
          const got = await started.post(path, body)
          const text = await got.text()
          const id = got.headers.get('x-request-id') ?? ''
          if (client === upstream) native = id
          else {
            ids.push({ id, name, native })
            const hasEnd = signs[client].end.test(text)
            const hasError = got.status >= 500 ? /"error"/.test(text) : signs[client].error.test(text)
            t.strictSame({ hasEnd, hasError }, { hasEnd: at >= last, hasError: at < last }, name, { text })
          }
        }
      }
    const charges = new Map((await started.charges(ids.length * 2)).map(one => [one.id, one]))
    // Missing usage is estimated from the request, whose text differs in each client's format.
    const linesOf = (id: string) =>
      charges
        .get(id)
        ?.lines.map(({ tier, quantity, price, flags }) =>
          flags.length > 0 ? { tier, flags } : { tier, quantity, price },
        )
    t.ok(charges.size > 0)
    for (const { id, name, native } of ids) t.strictSame(linesOf(id), linesOf(native), name)
    t.same((await started.gateway.storage.books.verify()).problems, [])
  })
