import {
  type Session as LiveSession,
  GoogleGenAI,
  type LiveServerMessage,
  MediaModality,
  Modality,
} from '@google/genai'
import t from 'tap'
import type { Test } from 'tap'
import { start, type Started } from '../harness/start.ts'

/** A live session of the vendor's SDK, with its messages and its close event. */
type Live = {
  readonly session: LiveSession
  readonly messages: readonly LiveServerMessage[]
  /** Resolves when a message satisfies the condition. */
  readonly until: (wanted: (message: LiveServerMessage) => unknown) => Promise<LiveServerMessage>
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>
}

async function connect(on: Started, config: object = {}, model = 'sim-live', key = on.key): Promise<Live> {
  const client = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: on.url } })
  const messages: LiveServerMessage[] = []
  const waits: (() => void)[] = []
  const { promise: closed, resolve } = Promise.withResolvers<{ code: number; reason: string }>()
  const session = await client.live.connect({
    model,
    config: { responseModalities: [Modality.TEXT], ...config },
    callbacks: {
      onmessage(message) {
        messages.push(message)
        for (const wait of waits.splice(0)) wait()
      },
      onclose: event => resolve({ code: event.code, reason: event.reason }),
    },
  })
  let at = 0
  return {
    session,
    messages,
    closed,
    async until(wanted) {
      for (;;) {
        const found = messages.findIndex((one, i) => i >= at && Boolean(wanted(one)))
        if (found >= 0) {
          at = found + 1
          return messages[found] as LiveServerMessage
        }
        await new Promise<void>(resolveWait => waits.push(resolveWait))
      }
    },
  }
}

const complete = ({ serverContent }: LiveServerMessage) => serverContent?.turnComplete
const begin = (t: Test): Promise<Started> => start(t, { simulated: true })

t.test("the vendor's own SDK holds a live session, and each turn is charged separately", async t => {
  const on = await begin(t)
  const { session, until, closed } = await connect(on)
  const counts: (number | undefined)[] = []
  for (const turns of ['Hello', 'And again']) {
    session.sendClientContent({ turns })
    counts.push((await until(complete)).usageMetadata?.promptTokenCount)
  }
  session.close()
  t.equal((await closed).code, 1000)
  const rows = await on.logs()
  const own = rows.find(row => row.status === 101)
  t.match(own, { operation: 'generate.live', outcome: 'answered', billing: null })
  const turns = rows.filter(row => row.status === 200).toSorted((a, b) => (a.id < b.id ? -1 : 1))
  t.strictSame(
    turns.map(row => row.usage.input_tokens),
    counts,
  )
  for (const turn of turns)
    t.match(turn, { model: 'sim-live', client_request_id: own?.id, billing: { state: 'settled' } }, turn.id)
  t.equal(on.gateway.open, 0)
})

t.test(
  'charges audio at its own price, and the turn with a tool call separately from the one with its result',
  async t => {
    const on = await begin(t)
    const { session, until, closed } = await connect(on, { responseModalities: [Modality.AUDIO] })
    session.sendRealtimeInput({ audio: { data: Buffer.alloc(32_000).toString('base64'), mimeType: 'audio/pcm' } })
    const spoken = (await until(complete)).usageMetadata
    const heard = spoken?.promptTokensDetails?.find(one => one.modality === MediaModality.AUDIO)?.tokenCount ?? 0
    const spokenTokens =
      spoken?.responseTokensDetails?.find(one => one.modality === MediaModality.AUDIO)?.tokenCount ?? 0
    t.ok(heard > 0 && spokenTokens > 0)
    session.sendClientContent({ turns: '[[call weather {"city":"Oslo"}]]' })
    const toolCall = await until(message => message.toolCall)
    session.sendToolResponse({
      functionResponses: {
        id: toolCall.toolCall?.functionCalls?.[0]?.id ?? '',
        name: 'weather',
        response: { degrees: 3 },
      },
    })
    await until(complete)
    session.close()
    await closed
    const turns = (await on.logs()).filter(row => row.status === 200).toSorted((a, b) => (a.id < b.id ? -1 : 1))
    t.equal(turns.length, 3)
    // 3 per million input audio tokens, 12 per million output audio tokens.
    t.equal(Number(turns[0]?.billing?.amount), (heard * 3 + spokenTokens * 12) / 1e6)
  },
)

t.test('a later session of the same key continues an earlier one by its handle', async t => {
  const on = await begin(t)
  const resumable = { sessionResumption: {} }
  const first = await connect(on, resumable)
  first.session.sendClientContent({ turns: 'Hello' })
  const update = await first.until(message => message.sessionResumptionUpdate?.newHandle)
  const handle = update.sessionResumptionUpdate?.newHandle ?? ''
  first.session.close()
  await first.closed
  const second = await connect(on, { sessionResumption: { handle } })
  second.session.sendClientContent({ turns: 'More' })
  const { usageMetadata } = await second.until(complete)
  t.ok((usageMetadata?.promptTokenCount ?? 0) > 3, 'the conversation counts again')
  second.session.close()
  await second.closed
  const { key: other } = await on.newKey()
  await t.rejects(
    connect(on, { sessionResumption: { handle } }, 'sim-live', other),
    /code 1008.*does not exist for this key/,
  )
  await t.rejects(connect(on, { sessionResumption: { handle: 'made-up' } }), /code 1008.*does not exist for this key/)
})

t.test('a setup that is refused closes the session with the reason', async t => {
  const on = await begin(t)
  await t.rejects(connect(on, {}, 'other'), /code 1008.*other/)
  await t.rejects(connect(on, {}, 'sim-chat'), /code 1008.*sim-chat/)
  await t.rejects(connect(on, { tools: [{ codeExecution: {} }] }), /code 1008.*codeExecution/)
  await t.rejects(connect(on, {}, 'sim-live', 'sk-wrong'), /401/)
  const rows = await on.logs()
  t.strictSame(
    rows.map(row => row.status).toSorted((a, b) => (a ?? 0) - (b ?? 0)),
    [400, 400, 401, 404],
  )
  t.ok(rows.every(row => !row.billing))
})
