import t from 'tap'
import { runCli } from '../harness/cli.ts'
import { picture } from '../harness/pictures.ts'
import { openDatabase } from '../harness/database.ts'
import { startPostgres } from '../harness/postgres.ts'
import { billed, checkBooks, openShop, type Shop } from '../harness/shop.ts'
import { caseName } from '../harness/case-name.ts'

const postgres = await startPostgres(['fsync=off'])
t.teardown(() => postgres.close())
const alpha = { model: 'alpha-image-2', prompt: 'a boat' }
const beta = { model: 'beta-imagine-image', prompt: 'a boat', size: '1920x1080' }
const link = { data: [{ url: 'https://pictures.example/1.png' }] }

const storage = await postgres.createDatabase()
billed(
  'images are charged on PostgreSQL, and the command line works beside the gateway',
  { env: { TOLLGATE_STORAGE: storage } },
  async (t, shop) => {
    shop.upstreams['alpha']?.answer({ data: [picture(1254, 1254), picture(3000, 10)] })
    const charged = await shop.ask({ ...alpha, n: 2 })
    t.equal(charged.status, 200)
    t.match(await shop.charges(1), [{ id: charged.id, state: 'settled' }])
    const place = { folder: shop.folder, storage }
    t.match(await runCli(place, 'ledger', 'verify'), { code: 0, stderr: /^1 charges, 2 lines, 1 entries: 0 problems/ })
    t.match(await runCli(place, 'logs'), { code: 0, stdout: /alpha-image-2/ })
    t.match(await runCli(place, 'ledger', 'refund', charged.id), { code: 0, stderr: /of charge/ })
    t.match(await shop.charges(1), [{ id: charged.id, state: 'settled', refunded: '0.12' }])
    t.match(await (await shop.get(`/v1/charges/${charged.id}`)).json(), { refunded: '0.12' })
    const keys = await runCli(place, 'keys', 'list')
    t.match(keys, { code: 0, stdout: /test/ })
    const nowhere = await runCli({ ...place, storage: storage.replace(/test\d+$/, 'none') }, 'keys', 'list')
    t.match(nowhere, { code: 1, stderr: /\/none: there is no such database/ })
    t.notMatch(`${nowhere.stdout}${nowhere.stderr}`, /a-password/)
  },
)

t.test(
  'while the database is away: 503 before an upstream is called, never 401; then it recovers by itself',
  async t => {
    const storage = await postgres.createDatabase()
    const shop = await openShop(t, { env: { TOLLGATE_STORAGE: storage } })
    shop.upstreams['alpha']?.answer({ data: [picture(1254, 1254)] })
    t.equal((await shop.ask(alpha)).status, 200)
    await shop.settled()
    const { key } = await shop.newKey()
    await readKeyChanges(shop, storage)
    t.equal((await shop.get('/v1/models')).status, 200, 'the key is cached')
    const calls = shop.upstreams['alpha']?.received.length
    await postgres.stop('immediate')
    for (const by of [shop.key, key, key]) {
      const refused = await shop.ask(alpha, { key: by })
      t.match(refused, { status: 503, headers: { 'retry-after': /^\d+$/ } }, caseName({ by }))
      t.match(refused.json(), { error: { code: 'storage_unavailable' } }, caseName({ by }))
    }
    t.equal(shop.upstreams['alpha']?.received.length, calls, 'nothing was sent')
    t.equal((await shop.get('/v1/models')).status, 200, 'free requests are answered')
    await postgres.start()
    for (;;) if ((await shop.ask(alpha, { key })).status === 200) break
    await shop.settled()
    t.same(await checkBooks(shop.gateway, shop), [])
  },
)

t.test('three gateways make ten of 200 concurrently requested images on a budget for ten', async t => {
  const env = { TOLLGATE_STORAGE: await postgres.createDatabase() }
  const shops = await Promise.all([1, 2, 3].map(() => openShop(t, { env })))
  for (const shop of shops) shop.upstreams['beta']?.answer(link)
  const [first] = shops
  if (!first) return
  const probe = await first.ask(beta)
  await first.settled()
  const [{ amount } = { amount: '0' }] = await first.charges(1)
  const price = Math.round(Number(amount) * 1_000_000)
  t.equal(probe.status, 200)
  const { key, id } = await first.newKey({ budget: 10 * price })
  const ask = async (i: number): ReturnType<Shop['ask']> => {
    const answer = await (shops[i % 3] as Shop).ask(beta, { key })
    // On a busy machine a statement may exceed its timeout: the client retries.
    return answer.status === 503 ? ask(i) : answer
  }
  const answers = await Promise.all(Array.from({ length: 200 }, (_, i) => ask(i)))
  t.equal(answers.filter(answer => answer.status === 200).length, 10)
  t.equal(answers.filter(answer => answer.status === 402).length, 190)
  for (const shop of shops) await shop.settled()
  t.match(
    (await first.gateway.storage.keys.list({ limit: 1_000 })).find(one => one.id === id),
    { spent: 10 * price, held: 0 },
  )
  t.same(await checkBooks(first.gateway), [])
})

/** Returns when the gateway has read changes of keys: its first read empties its cache. */
async function readKeyChanges(shop: Shop, storage: string): Promise<void> {
  const { key, id } = await shop.newKey()
  const other = await openDatabase({ url: storage })
  await other.keys.revoke(id, 'test')
  await other.close()
  while ((await shop.get('/v1/models', { authorization: `Bearer ${key}` })).status !== 401);
}
