import { readFile, writeFile } from 'node:fs/promises'
import t from 'tap'
import { Webhook } from 'standardwebhooks'
import { runTollgate } from '../harness/child.ts'
import { png } from '../harness/pictures.ts'
import { openReceiver } from '../harness/receiver.ts'
import { start } from '../harness/start.ts'
import { enterAsAdmin, enterAsUser, type Visitor } from '../harness/visitor.ts'
import { caseName } from '../harness/case-name.ts'

const secret = `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}`

const webhooks = (url: string): string =>
  `events: { webhooks: { finance: { url: "${url}", secret: ${secret}, kinds: ["config.*"], allow_private: true } } }`

type Told = { readonly id: string; readonly kind: string; readonly data: { readonly [name: string]: unknown } }
type Page = { readonly events: readonly Told[]; readonly next: string; readonly more: boolean }

const read = async (visitor: Visitor, query = ''): Promise<Page> =>
  (await visitor.get(`/api/events${query}`)).body as Page

await t.test('an event reaches its webhook and its readers, each with what they may see', async t => {
  const receiver = await openReceiver()
  t.teardown(() => receiver.close())
  const started = await start(t, {
    upstreams: ['alpha'],
    edit: [
      [
        'retention: { log: 90d }',
        `retention: { log: 90d }
events:
  webhooks:
    finance: { url: "\${HOOK_URL}", secret: "\${HOOK_SECRET}", kinds: ["charge.*", key.revoked, "config.*"], allow_private: true }
#`,
      ],
    ],
    env: { HOOK_URL: receiver.url, HOOK_SECRET: secret },
  })
  const { gateway, post, settled, upstreams, keyId } = started
  const admin = await enterAsAdmin(started)
  const ben = await enterAsUser(started, admin, 'ben')
  const made = (await ben.post('/api/keys', { name: "ben's" })).body as { key: { id: string }; secret: string }
  upstreams['alpha']?.answer({ created: 1, data: [{ b64_json: png(1254, 1254).toString('base64') }] })
  const buy = async (key?: string) => {
    const headers = key === undefined ? {} : { authorization: `Bearer ${key}` }
    const sent = await post('/v1/images/generations', { model: 'alpha-image-2', prompt: 'a boat' }, headers)
    await sent.arrayBuffer()
    return sent.headers.get('x-request-id') ?? ''
  }
  // The receiver gets only events that come after its registration.
  while ((await gateway.storage.events.webhooks.list()).length === 0)
    await new Promise(resolve => setTimeout(resolve, 20))
  const ours = await buy()
  const bens = await buy(made.secret)
  await settled()
  await admin.post(`/api/logs/${bens}/refund`, { reason: 'spoilt' })
  await admin.ask('DELETE', `/api/keys/${made.key.id}`)
  const same = await started.reload([['retention: { log: 90d }', 'retention: { log: 80d }']])
  t.equal(same.ok, true)
  t.match(await started.reload([]), { ok: true, changes: [] })
  const refused = await started.reload([['retention: { log: 80d }', 'retention: { log: never }']])
  t.equal(refused.ok, false)

  await t.test('a webhook gets signed events of its kinds only, without secrets', async t => {
    await receiver.has(6)
    // These edits change nothing; the first also clears the earlier refusal.
    for (const edits of [[['retention: { log: never }', 'retention: { log: 80d }'] as const], []]) {
      t.match(await started.reload(edits), { ok: true, changes: [] }, caseName({ edits }))
      await receiver.has(7)
    }
    t.match(JSON.parse(receiver.received.at(-1)?.body ?? ''), { type: 'config.applied', data: { count: 0 } })
    receiver.received.length = 6
    const deliveries = receiver.received.map(
      ({ body }) => JSON.parse(body) as { type: string; data: { [name: string]: unknown } },
    )
    t.same(deliveries.map(({ type }) => type).toSorted(), [
      'charge.refunded',
      'charge.settled',
      'charge.settled',
      'config.applied',
      'config.refused',
      'key.revoked',
    ])
    for (const { body, headers } of receiver.received)
      t.ok(
        new Webhook(secret).verify(body, headers as { readonly [name: string]: string }),
        caseName({ body, headers }),
      )
    t.match(deliveries.find(({ data }) => data['request_id'] === ours)?.data, {
      amount: '0.04',
      key_id: keyId,
      user: 'local',
    })
    t.match(deliveries.find(({ type }) => type === 'charge.refunded')?.data, {
      amount: '0.04',
      user: 'ben',
      request_id: bens,
    })
    t.match(deliveries.find(({ type }) => type === 'config.applied')?.data, { changes: [/retention\.log/], count: 1 })
    const all = JSON.stringify(receiver.received)
    for (const hidden of [secret.slice(6), made.secret, started.key, 'upstream-secret'])
      t.notOk(all.includes(hidden), caseName({ hidden }))
    const metrics = await (await fetch(`${started.opsUrl}/metrics`)).text()
    t.match(metrics, /^tollgate_webhook_events_total\{webhook="finance",result="arrived"\} 7$/m)
  })

  await t.test('administrators read all events, users their own, in continuing pages', async t => {
    const all = await read(admin, '?limit=200')
    t.equal(all.more, false)
    t.same((await read(admin, `?after=${all.next}`)).events, [])
    const page = await readFile(new URL('../../docs/events.md', import.meta.url), 'utf8')
    for (const { kind, data } of all.events) {
      const [, written = ''] =
        new RegExp(`^\\| \`${kind.replace('.', '[.]')}\` \\| [^|]+ \\| (.+) \\|$`, 'm').exec(page) ?? []
      for (const name of Object.keys(data))
        t.ok(written.includes(`\`${name}\``), `docs/events.md tells ${name} of ${kind}`)
    }
    const charged = all.events.filter(({ kind }) => kind === 'charge.settled')
    t.same(charged.map(({ data }) => String(data['request_id'])).toSorted(), [ours, bens].toSorted())
    const paged: Told[] = []
    for (let page = await read(admin, '?limit=2'); ; page = await read(admin, `?limit=2&after=${page.next}`)) {
      paged.push(...page.events)
      if (!page.more) break
    }
    t.same(paged, all.events)
    const own = await read(ben, '?limit=200')
    t.same(new Set(own.events.map(({ data }) => data['user'])), new Set(['ben']))
    t.same(
      own.events.map(({ kind }) => kind).filter(kind => kind.startsWith('charge.')),
      ['charge.settled', 'charge.refunded'],
    )
    t.same((await read(ben, '?limit=200&kinds=charge.settled')).events.length, 1)
    t.equal(
      (await read(ben, '?limit=200&kinds=charge.settled,charge.*')).events.length,
      (await read(ben, '?limit=200&kinds=charge.settled,charge.refunded')).events.length,
      'a sort is all kinds of it',
    )
    t.same((await read(ben, '?limit=200&kinds=upstream.*')).events, [])
    t.match(await admin.get('/api/events?kinds=cha.*'), { status: 400, text: /cha\.\* is none of/ })
    t.match(await admin.get('/api/events?kinds=charge.lost'), { status: 400, text: /charge\.lost is none of/ })
    t.match(await admin.get('/api/events?after=evt_x'), { status: 400 })
    t.equal((await fetch(`${started.url}/api/events`)).status, 401)
    t.equal((await read(admin, `?since=${new Date(Date.now() + 60_000).toISOString()}`)).events.length, 0)
  })
  await gateway.close()
})

await t.test('commands list events and redeliver them to a webhook', async t => {
  const folder = t.testdir()
  const config = `${folder}/gateway.yaml`
  const receiver = await openReceiver()
  t.teardown(() => receiver.close())
  const started = await start(t, {
    simulated: true,
    edit: [['retention: {', `${webhooks(receiver.url)}\nretention: {`]],
  })
  const { events } = started.gateway.storage
  while ((await events.webhooks.list()).length === 0) await new Promise(resolve => setTimeout(resolve, 20))
  await events.add({ kind: 'config.applied', data: { revision: 'one' } })
  await events.add({ kind: 'config.applied', data: { revision: 'two\u001b[31m' } })
  await receiver.has(2)
  const shipped = await readFile(new URL('../../gateway.yaml', import.meta.url), 'utf8')
  await writeFile(config, shipped.replace('retention: {', `${webhooks(receiver.url)}\nretention: {`))
  const site = { folder, config } as never
  const env = { TOLLGATE_STORAGE: `sqlite:${started.folder}/tollgate.db` }
  const run = (...words: readonly string[]) => runTollgate(site, ['events', ...words, '-c', config], env)
  const listed = await run('list', '--kind', 'config.applied', '--format', 'json')
  t.equal(listed.code, 0, listed.stderr)
  const lines = listed.stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as Told)
  t.match(lines, [{ kind: 'config.applied', data: { revision: 'one' } }, { data: { revision: /^two/ } }])
  const [one, two] = lines as [Told, Told]
  t.match(await run('list', '--after', one.id, '--since', '1h'), { code: 0, stdout: /config\.applied +revision two/ })
  t.notOk((await run('list')).stdout.includes('\u001b'), 'nothing that steers a terminal')
  t.equal((await run('list', '--kind', 'config.*', '--format', 'json')).stdout, listed.stdout, 'a sort is its kinds')
  t.match(await run('list', '--kind', 'charge.lost'), { code: 2, stderr: /one of \*, charge\.\*, .*charge\.settled/ })
  t.match(await run('list', '--after', 'evt_1'), { code: 2, stderr: /expected an event id/ })
  t.match(await run('redeliver', '--webhook', 'finance', '--id', two.id), {
    code: 0,
    stderr: /are sent to finance again/,
  })
  await receiver.has(3)
  t.equal(receiver.received[2]?.headers['webhook-id'], two.id)
  t.match(await run('redeliver', '--webhook', 'finance', '--after', one.id), { code: 0 })
  await receiver.has(4)
  t.equal(receiver.received[3]?.headers['webhook-id'], two.id)
  t.match(await run('redeliver', '--webhook', 'nobody', '--id', two.id), { code: 1, stderr: /it has finance/ })
  t.match(await run('redeliver', '--webhook', 'finance'), { code: 2, stderr: /--after ID or --id ID/ })
  t.match(await run('redeliver', '--webhook', 'finance', '--id', `${one.id.slice(0, -1)}5`), {
    code: 1,
    stderr: /no event/,
  })
})
