import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import OpenAI from 'openai'
import { OpenAIRealtimeWS } from 'openai/realtime/ws'
import t from 'tap'
import { makeCertificate, opensslMissing } from '../harness/certificates.ts'
import { start } from '../harness/start.ts'

type Done = {
  readonly response: { readonly usage?: { readonly input_tokens?: number; readonly output_tokens?: number } }
}

t.test(
  "the vendor's own SDK talks to a model through the gateway, and each response is charged separately",
  { skip: opensslMissing() },
  async t => {
    const {
      cert,
      key: certKey,
      ca,
    } = await makeCertificate(await mkdtemp(join(tmpdir(), 'tollgate-cert-')), 'localhost')
    const { url, key, logs, gateway } = await start(t, {
      simulated: true,
      edit: [['\nserver:\n', `\nserver:\n  tls: { cert: ${cert}, key: ${certKey} }\n`]],
    })
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key })
    const session = new OpenAIRealtimeWS({ model: 'sim-realtime', options: { ca } }, client)
    session.on('error', error => t.fail(error.message))
    const done = (): Promise<Done> =>
      new Promise(resolve => session.once('response.done', event => resolve(event as Done)))
    await new Promise(resolve => session.once('session.created', resolve))
    session.send({ type: 'session.update', session: { type: 'realtime', output_modalities: ['text'] } })
    const usages: Done['response']['usage'][] = []
    for (const text of ['Hello', 'And again']) {
      const ended = done()
      session.send({
        type: 'conversation.item.create',
        item: { type: 'message', role: 'user', content: [{ type: 'input_text', text }] },
      })
      session.send({ type: 'response.create' })
      usages.push((await ended).response.usage)
    }
    const closed = new Promise<number>(resolve => session.socket.on('close', resolve))
    session.close()
    t.equal(await closed, 1000)
    const rows = await logs()
    t.strictSame(
      new Set(rows.map(row => `${row.operation} ${row.status} ${row.outcome}`)),
      new Set(['realtime 101 answered', 'realtime 200 answered']),
    )
    t.equal(rows.length, 3)
    const of = rows.find(row => row.status === 101)
    const turns = rows.filter(row => row.status === 200).toSorted((a, b) => (a.id < b.id ? -1 : 1))
    t.equal(of?.billing, null)
    for (const [i, turn] of turns.entries()) {
      t.equal(turn.client_request_id, of?.id, 'a turn names its session')
      t.equal(turn.usage.input_tokens, usages[i]?.input_tokens, turn.id)
      t.equal(turn.usage.output_tokens, usages[i]?.output_tokens, turn.id)
      t.match(turn.billing, { state: 'settled' }, turn.id)
    }
    t.equal(gateway.open, 0)
  },
)
