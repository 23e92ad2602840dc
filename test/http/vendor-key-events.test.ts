import t from 'tap'
import type { Status } from '../../src/index.ts'
import { HandTime } from '../harness/hand-time.ts'
import { badKey, type Keyed, startKeyed } from '../harness/vendor-keys.ts'
import { enterAsAdmin } from '../harness/visitor.ts'
import { caseName } from '../harness/case-name.ts'

const nothing = { actor: 'test', action: 'wait', subject: '', before: null, after: null, reason: null }

/** Passes time in steps, so that due work runs before more time passes; otherwise the storage would seem to hang. */
async function pass({ gateway, settled }: Keyed, clock: HandTime, ms: number): Promise<void> {
  await settled()
  for (let gone = 0; gone < ms; gone += 5_000) {
    await gateway.storage.trail.note(nothing)
    await new Promise(resolve => setImmediate(resolve))
    clock.pass(5_000)
  }
}

/** The state of the keys in `GET /status`, the metrics and the console API. */
async function readAll({ opsUrl }: Keyed, console: Awaited<ReturnType<typeof enterAsAdmin>>) {
  const status = (await (await fetch(`${opsUrl}/status`)).json()) as Status
  const figures = await (await fetch(`${opsUrl}/metrics`)).text()
  const { upstreams } = (await console.get('/api/upstreams')).body as { upstreams: Status['upstreams'] }
  const ofText = (all: Status['upstreams']) => all.find(({ name }) => name === 'text')?.keys ?? []
  return { status: ofText(status.upstreams), figures, console: ofText(upstreams) }
}

t.test(
  'a 401 on one of two keys: 20 of 20 calls are answered, every report has the reason, and the key returns',
  async t => {
    const clock = new HandTime()
    const started = await startKeyed(t, { clock })
    const { gateway, refused, callsOf, chat, tried, tollgate } = started
    const admin = await enterAsAdmin(started, clock)
    refused.set('one', badKey)
    for (let i = 0; i < 20; i++) t.equal(await chat(), 200, caseName({ i }))
    t.equal(callsOf('two'), 20)
    t.equal(callsOf('one'), 1, 'one call wasted')
    t.equal((await started.charges(50)).length, 20, 'each is charged once')

    const suspended = {
      name: 'first',
      state: 'suspended',
      asked: false,
      reason: 'invalid',
      code: '401 invalid_api_key',
      lately: { invalid: 1, answered: 0 },
    }
    const away = await readAll(started, admin)
    for (const keys of [away.status, away.console])
      t.match(keys, [suspended, { state: 'active', asked: true, lately: { answered: 20 } }], caseName({ keys }))
    for (const line of [
      'tollgate_upstream_keys_asked{upstream="text"} 1',
      'tollgate_upstream_key_up{upstream="text",key="first"} 0',
      'tollgate_upstream_key_suspended{upstream="text",key="first",reason="invalid"} 1',
      'tollgate_upstream_key_requests_total{upstream="text",key="first",outcome="invalid"} 1',
      'tollgate_upstream_key_requests_total{upstream="text",key="second",outcome="answered"} 20',
    ])
      t.ok(away.figures.includes(`${line}\n`), line)
    const keyEvents = async () =>
      (await gateway.storage.events.after(0, 50)).filter(({ kind }) => kind.startsWith('upstream.'))
    t.match(await keyEvents(), [
      {
        kind: 'upstream.key_suspended',
        data: { upstream: 'text', key: 'first', code: '401 invalid_api_key', by: null },
      },
    ])
    t.equal((await keyEvents()).length, 1)
    t.match(await tollgate('status'), {
      code: 0,
      stdout: /^text +in use, 1 of 2 keys$[\s\S]+^text +first +suspended +refused by the vendor: 401 invalid_api_key/m,
    })
    t.match(
      (await tollgate('doctor')).stdout,
      /^warn +keys of text +first is suspended \(invalid\).+tollgate upstreams test text first/m,
    )

    refused.clear()
    const looked = tried()
    await pass(started, clock, 65_000)
    await looked
    await pass(started, clock, 5_000)
    const back = await readAll(started, admin)
    for (const keys of [back.status, back.console])
      t.match(keys, [{ state: 'active', asked: true, reason: null }, { state: 'active' }], caseName({ keys }))
    t.ok(back.figures.includes('tollgate_upstream_keys_asked{upstream="text"} 2\n'))
    t.notMatch(back.figures, /^tollgate_upstream_key_suspended\{/m)
    t.match((await keyEvents()).at(-1), { kind: 'upstream.key_resumed', data: { key: 'first', was: 'invalid' } })
    for (let i = 0; i < 60 && callsOf('one') === 1; i++) await chat()
    t.ok(callsOf('one') > 1, 'it is used again')
  },
)
