import t from 'tap'
import type { Test } from 'tap'
import { caseName } from '../harness/case-name.ts'
import { start } from '../harness/start.ts'
import { openTalk, Refused, startVendor } from '../harness/web-socket.ts'

const path = '/v1/realtime/client_secrets'
const ask = (model: string, seconds?: number): object => ({
  session: { type: 'realtime', model },
  ...(seconds !== undefined && { expires_after: { anchor: 'created_at', seconds } }),
})

type Secret = { readonly value: string; readonly expires_at: number; readonly session: { readonly model: string } }

async function open(t: Test) {
  const vendor = await startVendor(t)
  let aheadMs = 0
  const on = await start(t, {
    upstreams: ['alpha'],
    env: { TEXT_URL: vendor.url, TEXT_API_KEY: 'upstream-secret' },
    clock: { now: () => Date.now() + aheadMs, tick: () => performance.now() + aheadMs },
  })
  const secretOf = async (model: string, seconds?: number) =>
    (await (await on.post(path, ask(model, seconds))).json()) as Secret
  return { on, vendor, secretOf, pass: (ms: number) => void (aheadMs += ms) }
}

/** The status of an answer other than 101. */
async function statusOf(opening: Promise<unknown>): Promise<string> {
  try {
    await opening
  } catch (error) {
    if (error instanceof Refused) return String(error.status)
    throw error
  }
  return 'open'
}

t.test('issues a client secret that opens sessions of its model until it expires, charged to the key', async t => {
  const { on, vendor, secretOf, pass } = await open(t)
  const { value, expires_at: ends, session } = await secretOf('sim-realtime', 60)
  t.match(value, /^ek_[0-9A-Za-z]{49}$/)
  t.equal(session.model, 'sim-realtime')
  t.ok(Math.abs(ends - Date.now() / 1_000 - 60) < 30)
  t.equal(vendor.requests.length, 0, 'the upstream is not asked for one')
  const caller = await openTalk(t, `${on.url}/v1/realtime?model=sim-realtime`, undefined, {
    protocols: ['realtime', `openai-insecure-api-key.${value}`],
  })
  const model = await vendor.session()
  model.send({ type: 'response.created', response: { id: 'r' } })
  model.send({
    type: 'response.done',
    response: { id: 'r', usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 } },
  })
  await caller.next('response.done')
  caller.socket.close()
  await caller.closed
  t.notOk(JSON.stringify(vendor.requests[0]?.headers).includes(value))
  const turn = (await on.logs()).find(row => row.status === 200 && row.operation === 'realtime')
  t.match(turn, { key_id: on.keyId, billing: { amount: '0.00012' } })
  pass(61_000)
  t.match(await statusOf(openTalk(t, `${on.url}/v1/realtime?model=sim-realtime`, value)), '401')
})

t.test('refuses a client secret for any other request', async t => {
  const { on, secretOf } = await open(t)
  const { value } = await secretOf('sim-realtime')
  const plain = value.replace('ek_', 'sk-')
  for (const [key, to, body] of [
    [value, '/v1/chat/completions', { model: 'sim-chat', messages: [] }],
    [plain, '/v1/chat/completions', { model: 'sim-chat', messages: [] }],
    [value, path, ask('sim-realtime')],
    [plain, path, ask('sim-realtime')],
  ] as const)
    t.equal((await on.post(to, body, { authorization: `Bearer ${key}` })).status, 401, caseName({ key, to }))
  t.match(await statusOf(openTalk(t, `${on.url}/v1/realtime?model=sim-realtime`, plain)), '401')
  t.match(await statusOf(openTalk(t, `${on.url}/v1/realtime?model=sim-chat`, value)), /^40/)
})

t.test('revokes a client secret with its key, and refuses one for an invalid model or lifetime', async t => {
  const { on, secretOf } = await open(t)
  const { value } = await secretOf('sim-realtime')
  const narrow = await on.newKey({ models: ['sim-chat'] })
  for (const [body, status, key] of [
    [{}, 400, on.key],
    [ask('other'), 404, on.key],
    [ask('sim-realtime'), 404, narrow.key],
    [ask('sim-realtime', 5), 400, on.key],
    [ask('sim-realtime', 7_201), 400, on.key],
    [ask('sim-realtime', 7_200), 200, on.key],
  ] as const)
    t.equal((await on.post(path, body, { authorization: `Bearer ${key}` })).status, status, caseName({ body }))
  await on.gateway.storage.keys.revoke(on.keyId)
  t.match(await statusOf(openTalk(t, `${on.url}/v1/realtime?model=sim-realtime`, value)), '401')
})
