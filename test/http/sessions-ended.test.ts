import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import type { Test } from 'tap'
import { openCounters } from '../../src/storage/counters/index.ts'
import { hashSecret, systemClock, systemRandom } from '../../src/util/index.ts'
import { runCli } from '../harness/cli.ts'
import { silentLog } from '../contract/storage.ts'
import { type Edits, start, type Started, type StartOptions } from '../harness/start.ts'
import { enterAsAdmin, enterAsUser } from '../harness/visitor.ts'
import { openTalk, Refused, startVendor, type Talk } from '../harness/web-socket.ts'

const path = '/v1/realtime?model=sim-realtime'

async function open(t: Test, more: StartOptions = {}) {
  const vendor = await startVendor(t)
  const env = { TEXT_URL: vendor.url, TEXT_API_KEY: 'upstream-secret' }
  return { vendor, on: await start(t, { upstreams: ['alpha'], env, ...more }) }
}

/** Sessions are recorded after they have opened. */
async function recorded({ gateway }: Started, count: number): Promise<readonly string[]> {
  for (;;) {
    await gateway.storage.flush()
    const ids = (await gateway.storage.liveSessions.list({ limit: 9 })).map(({ id }) => id)
    if (ids.length === count) return ids
    await new Promise(resolve => setTimeout(resolve, 5))
  }
}

const codeOf = async (opening: Promise<Talk>): Promise<string> =>
  opening.then(
    () => 'it was opened',
    (error: unknown) => {
      if (!(error instanceof Refused)) throw error
      return (JSON.parse(error.body) as { error: { code: string } }).error.code
    },
  )

t.test('the command line lists sessions and ends one: its turn is charged, and clients do not reconnect', async t => {
  const { on, vendor } = await open(t)
  const run = (...args: readonly string[]) => runCli(on, ...args)
  t.match(await run('sessions', 'list'), { code: 0, stderr: /No sessions/ })
  const caller = await openTalk(t, on.url + path, on.key)
  const other = await openTalk(t, on.url + path, on.key)
  const model = await vendor.session()
  await vendor.session()
  model.send({ type: 'response.created', response: { id: 'r' } })
  await caller.next('response.created')
  await recorded(on, 2)
  const listed = await run('sessions', 'list', '--format', 'json')
  const shown = listed.stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as { id: string })
  const common = { key_id: on.keyId, user: 'local', operation: 'realtime', model: 'sim-realtime', upstream: 'text' }
  t.match(shown, [common, { ...common, key_name: 'test', ending: false }])
  const [, first] = shown
  if (!first) throw new Error('it is not listed')
  t.match((await run('sessions', 'list')).stdout, new RegExp(first.id))
  t.match(await run('sessions', 'list', '--key', 'key_none'), { stderr: /No sessions/ })
  t.match(await run('sessions', 'end', 'req_none'), { code: 1, stderr: /no session 'req_none'/ })
  t.match(await run('sessions', 'end', first.id, '--reason', 'asked for'), { code: 0, stderr: /is ending/ })
  t.match(await caller.next('error'), { error: { code: 'session_ended' } })
  const [code, reason] = await caller.closed
  t.equal(code, 1008)
  t.match(reason, /administrator/)
  await model.next('response.cancel')
  const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 }
  model.send({ type: 'response.done', response: { id: 'r', status: 'cancelled', usage } })
  await recorded(on, 1)
  t.equal(other.socket.readyState, other.socket.OPEN, 'others go on')
  other.socket.close()
  await other.closed
  const rows = await on.logs()
  t.match(
    rows.find(({ id }) => id === first.id),
    { status: 101, error: 'session_ended' },
  )
  t.equal(rows.filter(({ billing }) => Number(billing?.amount) > 0).length, 1)
  await recorded(on, 0)
  const { trail } = on.gateway.storage
  t.match(await trail.list({ action: 'live_session', limit: 2 }), [{ subject: first.id, reason: 'asked for' }])
})

t.test('administrators list and end sessions in the API, also of responses; others may not', async t => {
  const on = await start(t, { simulated: true })
  const admin = await enterAsAdmin(on)
  const ann = await enterAsUser(on, admin, 'ann')
  const caller = await openTalk(t, `${on.url}/v1/responses`, on.key)
  const [id = ''] = await recorded(on, 1)
  t.match((await admin.get('/api/sessions')).body, {
    sessions: [{ id, user: 'local', key_id: on.keyId, operation: 'responses', model: null, upstream: null }],
  })
  t.match((await admin.get('/api/sessions?key=key_none')).body, { sessions: [] })
  t.equal((await ann.get('/api/sessions')).status, 403)
  t.equal((await ann.post(`/api/sessions/${id}/end`, { reason: 'not theirs' })).status, 403)
  t.equal((await admin.post('/api/sessions/req_none/end', { reason: 'a test' })).status, 404)
  t.equal((await admin.post(`/api/sessions/${id}/end`, {})).status, 400)
  t.equal((await admin.post(`/api/sessions/${id}/end`, { reason: 'a test' })).status, 204)
  t.match(await caller.next('error'), { status: 403, error: { code: 'session_ended' } })
  t.equal((await caller.closed)[0], 1008)
  await recorded(on, 0)
  t.match(await on.gateway.storage.trail.list({ action: 'live_session', limit: 9 }), [{ actor: 'root', subject: id }])
})

t.test('sessions of one key are counted across all gateways with shared counters', async t => {
  const counters = await openCounters({ url: 'memory:', clock: systemClock, random: systemRandom, log: silentLog })
  const edit: Edits = [['operation: realtime, dialect: openai, session: {', '$& per_key: 1,']]
  const one = await open(t, { counters, edit })
  const two = await open(t, { counters, edit })
  // Both have the same key, as for gateways on one storage.
  const db = new DatabaseSync(join(two.on.folder, 'tollgate.db'), { timeout: 5_000 })
  db.prepare('UPDATE key SET id = ?, hash = ? WHERE id = ?').run(one.on.keyId, hashSecret(one.on.key), two.on.keyId)
  db.close()
  const caller = await openTalk(t, one.on.url + path, one.on.key)
  t.equal(await codeOf(openTalk(t, one.on.url + path, one.on.key)), 'session_limit')
  t.equal(await codeOf(openTalk(t, two.on.url + path, one.on.key)), 'session_limit')
  t.match(await openTalk(t, one.on.url + path, (await one.on.newKey()).key), {}, 'another key has separate ones')
  caller.socket.close()
  await caller.closed
  await one.on.gateway.storage.flush()
  for (;;) if ((await codeOf(openTalk(t, two.on.url + path, one.on.key))) === 'it was opened') break
})
