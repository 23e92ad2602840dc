import t from 'tap'
import type { Answer } from '../../plugins/format-bridge/neutral/index.ts'
import { caseName } from '../harness/case-name.ts'
import { askOf, startFour, vendorAnswer } from '../harness/four-formats.ts'
import { type Format, formats } from '../harness/translating.ts'

const answer: Answer = {
  parts: [{ kind: 'text', text: 'A boat, and a long sentence about it.' }],
  stop: { why: 'end' },
  usage: { input: 30, output: 12 },
}

for (const upstream of formats)
  t.test(`a client that leaves a stream of ${upstream} is charged as a native one`, async t => {
    const started = await startFour(t)
    const { records } = vendorAnswer(upstream, answer)
    // The upstream sends its text and then nothing: its stream ends because the gateway closes it.
    const begun = records.slice(0, records.findIndex(record => record.includes('long sentence')) + 1).join('')
    t.ok(begun.length > 0 && begun.length < records.join('').length)
    const chargeOf = async (client: Format) => {
      const closed = Promise.withResolvers<void>()
      started.upstream.answer(res => {
        res.on('close', () => closed.resolve())
        res.writeHead(200, { 'content-type': 'text/event-stream' }).write(begun)
      })
      const [path, body] = askOf(client, `up-${upstream}`, true)
      const leaving = new AbortController()
      const headers = { authorization: `Bearer ${started.key}`, 'content-type': 'application/json' }
      const got = await fetch(started.url + path, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
        signal: leaving.signal,
      })
      let text = ''
      const decoder = new TextDecoder()
      for await (const chunk of got.body ?? []) {
        text += decoder.decode(chunk, { stream: true })
        if (text.includes('long sentence')) break
      }
      leaving.abort()
      await closed.promise
      await started.settled()
      const id = got.headers.get('x-request-id') ?? ''
      const [record] = (await started.logs(100)).filter(one => one.id === id)
      const charge = (await started.charges(100)).find(one => one.id === id)
      // Missing usage is estimated from the request, whose text differs in each client's format.
      const lines = charge?.lines.map(({ tier, quantity, flags }) =>
        flags.length > 0 ? { tier, flags } : { tier, quantity },
      )
      return { state: charge?.state, lines, outcome: record?.outcome }
    }
    const native = await chargeOf(upstream)
    t.match(native, { state: 'settled', outcome: 'caller_gone' }, caseName({ native }))
    for (const client of formats.filter(one => one !== upstream)) t.same(await chargeOf(client), native, client)
  })
