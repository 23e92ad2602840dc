import t from 'tap'
import { picture } from '../harness/pictures.ts'
import { type Postgres, startPostgres } from '../harness/postgres.ts'
import { checkBooks, openShop, type Shop } from '../harness/shop.ts'
import { until } from '../harness/works.ts'
import { caseName } from '../harness/case-name.ts'

const alpha = { model: 'alpha-image-2', prompt: 'a boat' }
const chat = { model: 'sim-chat', messages: [{ role: 'user', content: 'Say hello.' }] }
const connectionsMax = 20
const postgres: Postgres = await startPostgres(['fsync=off', `max_connections=${connectionsMax}`])
t.teardown(() => postgres.close())

async function open(t: Parameters<typeof openShop>[0]): Promise<{ shop: Shop; url: string }> {
  const url = await postgres.createDatabase()
  const edit = [[/(sim-chat: .*)prices: \{[^}]*\}/, '$1price: free']] as const
  const shop = await openShop(t, { env: { TOLLGATE_STORAGE: url }, edit })
  shop.upstreams['alpha']?.answer({ data: [picture(1254, 1254)] })
  shop.upstreams['text']?.answer({ choices: [] })
  t.equal((await shop.ask(alpha)).status, 200)
  // Cached keys are usable once a poll has shown that none has changed; polls run twice per second.
  const since = performance.now()
  await until(async () => {
    t.equal((await shop.ask(chat, { path: '/v1/chat/completions' })).status, 200)
    return performance.now() - since > 1_000
  })
  await shop.settled()
  return { shop, url }
}

/** Images are refused before any upstream call; free requests are answered. */
async function refuses(t: Parameters<typeof openShop>[0], shop: Shop): Promise<void> {
  const calls = shop.upstreams['alpha']?.received.length
  const began = performance.now()
  const images = Array.from({ length: 8 }, async () => {
    const answer = await shop.ask(alpha)
    return { ...answer, ms: performance.now() - began }
  })
  for (let i = 0; i < 5; i++) {
    t.equal((await shop.ask(chat, { path: '/v1/chat/completions' })).status, 200, caseName({ i }))
    t.equal((await shop.get('/v1/models')).status, 200, caseName({ i }))
  }
  t.comment(`five of what costs nothing took ${Math.round(performance.now() - began)} ms`)
  const answers = await Promise.all(images)
  for (const answer of answers) {
    t.match(answer, { status: 503, headers: { 'retry-after': /^\d+$/ } }, caseName({ answer }))
    t.match(answer.json(), { error: { code: 'storage_unavailable' } }, caseName({ answer }))
  }
  t.comment(`images were refused after ${Math.round(Math.max(...answers.map(({ ms }) => ms)))} ms at most`)
  t.equal(shop.upstreams['alpha']?.received.length, calls, 'nothing was sent')
}

async function goesOn(t: Parameters<typeof openShop>[0], shop: Shop): Promise<void> {
  await until(async () => (await shop.ask(alpha)).status === 200)
  await shop.settled()
  await until(async () => (await checkBooks(shop.gateway, shop)).length === 0)
  t.strictSame(await checkBooks(shop.gateway, shop), [])
}

await t.test(
  'a database that takes 5 seconds per charge: returns 503 in time, answers free requests, and leaves nothing open [D10]',
  async t => {
    const { shop, url } = await open(t)
    const foreign = await postgres.connect(url)
    await foreign.query(`CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(5); RETURN NEW; END $$;
      CREATE TRIGGER slow BEFORE INSERT ON charge FOR EACH ROW EXECUTE FUNCTION slow()`)
    await refuses(t, shop)
    await foreign.query('DROP TRIGGER slow ON charge')
    await foreign.end()
    await goesOn(t, shop)
  },
)

await t.test(
  'other clients take every database connection: returns 503, and recovers when they leave [D10]',
  async t => {
    const { shop, url } = await open(t)
    const foreign = await postgres.connect(url)
    const crowd = [foreign]
    const own = `FROM pg_stat_activity WHERE application_name LIKE 'tollgate%'`
    // Repeatedly ends the gateway's connections, until it has none.
    for (;;) {
      const more = await postgres.connect(url).catch(() => undefined)
      if (more) crowd.push(more)
      else if ((await foreign.query(`SELECT pg_terminate_backend(pid) ${own}`)).rowCount === 0) break
    }
    await until(() => Promise.resolve(!shop.gateway.storage.ledger.healthy()))
    await refuses(t, shop)
    await Promise.all(crowd.map(one => one.end()))
    await goesOn(t, shop)
  },
)

await t.test('a read-only standby database: returns 503, then recovers by itself [D6]', async t => {
  const { shop, url } = await open(t)
  const foreign = await postgres.connect(url)
  await foreign.query('ALTER SYSTEM SET default_transaction_read_only = on')
  await foreign.query('SELECT pg_reload_conf()')
  await until(async () => (await shop.ask(alpha)).status === 503)
  await refuses(t, shop)
  await foreign.query('SET default_transaction_read_only = off')
  await foreign.query('ALTER SYSTEM RESET default_transaction_read_only')
  await foreign.query('SELECT pg_reload_conf()')
  await foreign.end()
  await goesOn(t, shop)
})
