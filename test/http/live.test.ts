import type { Socket } from 'node:net'
import t from 'tap'
import type { Test } from 'tap'
import { opcodes, writeFrame } from '../../src/engine/sessions/frames.ts'
import { caseName } from '../harness/case-name.ts'
import { keyedEdit } from '../harness/vendor-keys.ts'
import { type FakeVendor, openTalk, Refused, startVendor, type Talk } from '../harness/web-socket.ts'
import { type Edits, start, type Started } from '../harness/start.ts'

const service = 'google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent'
const path = `/ws/${service}`
const setup = (more: object = {}): object => ({ setup: { model: 'models/sim-live', ...more } })
const modelTurn = { serverContent: { modelTurn: { parts: [{ text: 'words' }] } } }
const over = { serverContent: { turnComplete: true } }
const hello = { clientContent: { turns: [{ parts: [{ text: 'hi' }] }], turnComplete: true } }

async function open(t: Test, edit: Edits = []): Promise<{ readonly on: Started; readonly vendor: FakeVendor }> {
  const vendor = await startVendor(t)
  const env = { TEXT_URL: vendor.url, TEXT_API_KEY: 'upstream-secret' }
  return { on: await start(t, { upstreams: ['alpha'], env, edit }), vendor }
}

async function connect(t: Test, { on, vendor }: Awaited<ReturnType<typeof open>>, more: object = {}, key = on.key) {
  const caller = await openTalk(t, on.url + path, key)
  caller.send(setup(more))
  const model = await vendor.session()
  const asked = await model.next('setup')
  model.send({ setupComplete: {} })
  await caller.next('setupComplete')
  return { caller, model, asked }
}

async function talk(t: Test, edit: Edits = [], more: object = {}) {
  const opened = await open(t, edit)
  return { ...opened, ...(await connect(t, opened, more)) }
}

/** A report of used tokens. */
function used(input: number, output: number, more: object = {}): { readonly usageMetadata: object } {
  return {
    usageMetadata: {
      promptTokenCount: input,
      responseTokenCount: output,
      totalTokenCount: input + output,
      ...more,
    },
  }
}

async function end({ socket, closed }: Talk): Promise<void> {
  socket.close()
  await closed
}

const turnsOf = async (on: Started) =>
  (await on.logs()).filter(row => row.status === 200).toSorted((a, b) => (a.id < b.id ? -1 : 1))
const amountsOf = async (on: Started) => (await turnsOf(on)).map(row => row.billing?.amount)

t.test('accepts a key in a header or the query, and forwards the setup under the name of the upstream', async t => {
  const { on, vendor } = await open(t, [
    [
      'sim-live: { family: live, upstream: text,',
      'sim-live: { family: live, upstreams: [{ upstream: text, send_as: live-1 }],',
    ],
  ])
  for (const [start, header, query] of [
    ['/', { 'x-goog-api-key': on.key }, ''],
    ['//', {}, `?key=${on.key}`],
    ['/', {}, `?access_token=${on.key}`],
    ['/', { authorization: `Bearer ${on.key}` }, ''],
  ] as const) {
    const which = caseName({ start, header, query })
    const caller = await openTalk(t, `${on.url}${start}ws/${service}${query}`, undefined, { headers: header })
    caller.send(setup({ generationConfig: { temperature: 1 } }))
    const model = await vendor.session()
    t.strictSame(
      await model.next('setup'),
      { setup: { model: 'models/live-1', generationConfig: { temperature: 1 } } },
      which,
    )
    const request = vendor.requests.at(-1)
    t.equal(request?.url, path, which)
    t.notOk(JSON.stringify(request?.headers).includes(on.key), which)
    t.match(request?.headers, { authorization: 'Bearer upstream-secret' }, which)
    await end(caller)
  }
})

t.test('charges each turn by modality, in text and binary messages, and cached tokens and searches', async t => {
  const { on, caller, model } = await talk(t, [
    [
      'sim-live: { family: live, upstream: text, prices: {',
      'sim-live: { family: live, upstream: text, prices: { cached_input: "0.05",',
    ],
  ])
  const details = {
    promptTokensDetails: [
      { modality: 'TEXT', tokenCount: 600 },
      { modality: 'AUDIO', tokenCount: 400 },
    ],
    responseTokensDetails: [
      { modality: 'TEXT', tokenCount: 100 },
      { modality: 'AUDIO', tokenCount: 200 },
    ],
  }
  caller.send(hello)
  await model.next('clientContent')
  model.send(modelTurn)
  model.send({ ...over, ...used(1000, 300, details) })
  await caller.next('usageMetadata')
  // Voice detection begins a turn, and the vendor sends JSON in binary frames.
  model.socket.send(Buffer.from(JSON.stringify(modelTurn)), { binary: true })
  const cached = { cachedContentTokenCount: 100, thoughtsTokenCount: 20 }
  model.socket.send(Buffer.from(JSON.stringify({ ...over, ...used(200, 10, cached) })), { binary: true })
  await caller.next('usageMetadata')
  const grounding = { groundingMetadata: { webSearchQueries: ['boats'] } }
  model.send({ serverContent: { ...modelTurn.serverContent, ...grounding } })
  model.send({ ...over, ...used(10, 5) })
  await caller.next('usageMetadata')
  await end(caller)
  // 600 text tokens at 0.5, 400 audio at 3, 100 words at 2, 200 audio at 12; 100 at 0.5, 100 cached at 0.05, 30 at 2; a
  // search at 0.035.
  t.strictSame(await amountsOf(on), ['0.0041', '0.000115', '0.035015'])
})

t.test('charges a turn once, wherever its usage is reported, and a later report replaces an earlier one', async t => {
  const opened = await open(t)
  const amounts: (string | undefined)[] = []
  for (const [name, messages] of [
    ['with the end', [modelTurn, { ...over, ...used(10, 5) }]],
    ['before the end', [modelTurn, used(10, 5), over]],
    ['after the end', [modelTurn, over, used(10, 5)]],
    ['several times', [modelTurn, used(4, 1), modelTurn, used(10, 5), { ...over, ...used(10, 5) }]],
    ['again after the end', [modelTurn, { ...over, ...used(10, 5) }, used(10, 5)]],
    ['end repeated', [modelTurn, { ...over, ...used(10, 5) }, over]],
    ['end repeated with its usage', [modelTurn, { ...over, ...used(10, 5) }, { ...over, ...used(10, 5) }]],
    ['end repeated before its usage', [modelTurn, over, over, used(10, 5)]],
    ['end after its usage, without content', [used(10, 5), over]],
    ['with an interruption', [modelTurn, { serverContent: { interrupted: true } }, { ...over, ...used(10, 5) }]],
    [
      'in snake case',
      [modelTurn, { server_content: { turn_complete: true }, usage_metadata: used(10, 5).usageMetadata }],
    ],
    ['without content', [used(10, 5)]],
  ] as const) {
    const { caller, model } = await connect(t, opened)
    for (const message of messages) model.send(message)
    model.send({ goAway: { timeLeft: '1s' } })
    await caller.next('goAway')
    await end(caller)
    amounts.push('0.000015')
    t.strictSame(await amountsOf(opened.on), amounts, name)
  }
})

t.test('charges the differences between cumulative totals', async t => {
  const { on, caller, model } = await talk(t, [['session_usage: turn', 'session_usage: running']])
  const audio = (tokenCount: number) => ({ promptTokensDetails: [{ modality: 'AUDIO', tokenCount }] })
  for (const [input, output, heard] of [
    [100, 10, 50],
    [300, 30, 150],
    [600, 60, 200],
  ] as const) {
    model.send(modelTurn)
    model.send({ ...over, ...used(input, output, audio(heard)) })
    await caller.next('usageMetadata')
  }
  await end(caller)
  // 50 at 0.5, 50 at 3, 10 at 2; 100, 100, 20; 250, 50, 30.
  t.strictSame(await amountsOf(on), ['0.000195', '0.00039', '0.000335'])
})

t.test('charges an estimate for a turn without a usage report', async t => {
  const { on, caller, model } = await talk(t)
  model.send(modelTurn)
  model.send(over)
  model.send(modelTurn)
  model.send({ ...over, ...used(10, 5) })
  await caller.next('usageMetadata')
  await end(caller)
  const [first, second] = await turnsOf(on)
  t.match(second?.billing, { amount: '0.000015', flags: [] })
  t.equal(first?.billing?.state, 'settled')
  t.ok(first?.billing?.flags.length, 'it is marked as an estimate')
})

t.test('closes with a reason when the first message is not a setup, or names what the key may not use', async t => {
  const { on, vendor } = await open(t)
  for (const [message, code, reason] of [
    ['no json', 1008, /not JSON/],
    [JSON.stringify(hello), 1008, /no `setup`/],
    [JSON.stringify({ setup: {} }), 1008, /model/],
    [JSON.stringify({ setup: { model: 'models/none' } }), 1008, /none/],
    [JSON.stringify({ setup: { model: 'models/sim-chat' } }), 1008, /sim-chat/],
    [JSON.stringify({ setup: { model: 'models/sim-live', tools: [{ codeExecution: {} }] } }), 1008, /codeExecution/],
  ] as const) {
    const caller = await openTalk(t, on.url + path, on.key)
    caller.socket.send(message)
    t.match(await caller.next('error'), { error: { code: Number, status: String } }, message)
    const [closed, why] = await caller.closed
    t.equal(closed, code, message)
    t.match(why, reason, message)
  }
  const { key } = await on.newKey({ models: ['sim-chat'] })
  const barred = await openTalk(t, on.url + path, key)
  barred.send(setup())
  t.equal((await barred.closed)[0], 1008)
  const gone = await openTalk(t, on.url + path, on.key)
  await end(gone)
  await on.settled()
  t.equal(vendor.requests.length, 0, 'no upstream is called')
  t.equal(on.gateway.open, 0)
})

t.test('closes the connection of a client that disconnects before or within its setup', async t => {
  const { on } = await open(t)
  const fragment = writeFrame(opcodes.text, Buffer.from('{'), true)
  fragment[0] = opcodes.text
  for (const sent of [Buffer.alloc(0), fragment]) {
    const name = caseName({ sent })
    const caller = await openTalk(t, on.url + path, on.key)
    const { _socket: socket } = caller.socket as unknown as { readonly _socket: Socket }
    socket.write(sent)
    // Ends only the client's half of the connection.
    socket.end()
    const limit = new Promise(resolve => setTimeout(resolve, 5_000, 'open'))
    t.not(await Promise.race([caller.closed, limit]), 'open', name)
  }
  await on.gateway.close()
})

t.test("maps an upstream's refusal of the handshake or of the setup to an error of the gateway", async t => {
  const opened = await open(t)
  const { on, vendor } = opened
  vendor.answer = socket =>
    void socket.end('HTTP/1.1 401 Unauthorized\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}')
  const first = await openTalk(t, on.url + path, on.key)
  first.send(setup())
  t.match(await first.next('error'), { error: { code: 502 } })
  t.equal((await first.closed)[0], 1013)
  const fresh = await open(t)
  const caller = await openTalk(t, fresh.on.url + path, fresh.on.key)
  caller.send(setup())
  const model = await fresh.vendor.session()
  await model.next('setup')
  model.socket.close(1007, 'Request contains an invalid argument.')
  t.match(await caller.next('error'), { error: { message: /1007 Request contains an invalid argument/ } })
  t.equal((await caller.closed)[0], 1008)
  t.same(await turnsOf(fresh.on), [])
})

t.test('a close that refuses the vendor key counts against the key, and is not reported as a client error', async t => {
  const reason = 'API key not valid. Please pass a valid API key.'
  const refuse = async ({ on, vendor }: Awaited<ReturnType<typeof open>>, code: number, why: string) => {
    const caller = await openTalk(t, on.url + path, on.key)
    caller.send(setup())
    const model = await vendor.session()
    await model.next('setup')
    model.socket.close(code, why)
    const { error } = await caller.next('error')
    return { error, code: (await caller.closed)[0], key: String(vendor.requests.at(-1)?.headers.authorization) }
  }
  const several = await open(t, [keyedEdit()])
  const first = await refuse(several, 1007, reason)
  t.match(first, { error: { code: 502, message: /Open a new one/ }, code: 1011 })
  const status = several.on.gateway.status().upstream_keys['text']
  t.match(status?.map(({ state, reason: why }) => [state, why]).toSorted(), [
    ['active', null],
    ['suspended', 'invalid'],
  ])
  const second = await refuse(several, 1008, reason)
  t.not(second.key, first.key, 'the next session has the other key')
  const none = await openTalk(t, several.on.url + path, several.on.key)
  none.send(setup())
  t.match(await none.next('error'), { error: { code: 502, message: /no usable key/ } })

  const only = await open(t)
  t.match(await refuse(only, 1008, reason), { error: { code: 502, message: /no usable key/ }, code: 1013 })
  t.match(await refuse(only, 1007, `models/${reason} is not found`), { error: { code: 400 }, code: 1008 })
  t.match(await refuse(only, 1011, 'Internal error encountered.'), { error: { code: 502 }, code: 1011 })
  t.match((await only.on.logs()).map(row => String(row.error)).toSorted(), [
    'session_setup_refused',
    'session_upstream_gone',
    'upstream_credentials',
  ])
  t.same(await turnsOf(only.on), [], 'nothing is charged')
})

t.test('ends the session with an error and 1008 when the budget is spent', async t => {
  const opened = await open(t)
  const { on } = opened
  const { key } = await on.newKey({ budget: 20_000 })
  const { caller, model } = await connect(t, opened, {}, key)
  caller.send(hello)
  await model.next('clientContent')
  model.send(modelTurn)
  model.send({ ...over, ...used(10_000, 7_000) })
  t.match(await caller.next('error'), { error: { status: 'FAILED_PRECONDITION' } })
  t.equal((await caller.closed)[0], 1008)
  t.equal((await model.closed)[0], 1000)
  t.strictSame(await amountsOf(on), ['0.019'])
})

t.test('announces the end of the session when the gateway stops, and lets the turn end', async t => {
  const { on, caller, model } = await talk(t)
  model.send(modelTurn)
  await caller.next('serverContent')
  const closing = on.gateway.close()
  t.match(await caller.next('goAway'), { goAway: { timeLeft: '0s' } })
  model.send({ ...over, ...used(10, 5) })
  t.equal((await caller.closed)[0], 1012)
  await closing
})

t.test('ends a session in which a message refers to a stored file, however it is written', async t => {
  const opened = await open(t)
  const file = JSON.stringify({ clientContent: { turns: [{ parts: [{ fileData: { fileUri: 'files/theirs' } }] }] } })
  const cut = file.indexOf('fileUri') + 3
  for (const [name, send] of [
    ['plain', (talk: Talk) => talk.socket.send(file)],
    [
      'in fragments',
      (talk: Talk) => {
        talk.socket.send(file.slice(0, file.indexOf('fileData') + 3), { fin: false })
        talk.socket.send(file.slice(file.indexOf('fileData') + 3, cut), { fin: false })
        talk.socket.send(file.slice(cut))
      },
    ],
    ['in escapes', (talk: Talk) => talk.socket.send(file.replaceAll('file', String.raw`fi\u006ce`))],
  ] as const) {
    const { caller, model } = await connect(t, opened)
    send(caller)
    t.match(await caller.next('error'), { error: { message: /stored file/ } }, name)
    t.equal((await caller.closed)[0], 1008, name)
    await model.closed
    t.ok(
      model.events.every(event => !JSON.stringify(event).includes('theirs')),
      name,
    )
  }
})

t.test('records a handle before the client gets it, and continues only sessions of the same key', async t => {
  const opened = await open(t)
  const { on, vendor } = opened
  const { caller, model } = await connect(t, opened, { sessionResumption: {} })
  model.send({ sessionResumptionUpdate: { newHandle: 'handle-1', resumable: true } })
  model.send(modelTurn)
  model.send({ ...over, ...used(10, 5) })
  await caller.next('sessionResumptionUpdate')
  const resumption = { sessionResumption: { handle: 'handle-1' } }
  const again = await connect(t, opened, resumption)
  t.match(again.asked, { setup: resumption })
  const { key } = await on.newKey()
  const before = vendor.requests.length
  const other = await openTalk(t, on.url + path, key)
  other.send(setup(resumption))
  t.match(await other.next('error'), { error: { status: 'NOT_FOUND' } })
  await other.closed
  t.equal(vendor.requests.length, before)
  await caller.next('usageMetadata')
  await end(again.caller)
  await end(caller)
  t.strictSame(await amountsOf(on), ['0.000015'], 'turns after the handle were charged')
})

t.test('refuses a handshake before the WebSocket opens if the reason does not depend on the setup', async t => {
  const { on } = await open(t)
  const refused = await openTalk(t, on.url + path, 'sk-wrong').then(
    () => undefined,
    (error: unknown) => error,
  )
  t.ok(refused instanceof Refused)
  t.match(refused, { status: 401, body: /API_KEY_INVALID/ })
  t.equal((await on.get(path)).status, 426)
})
