import { setTimeout as wait } from 'node:timers/promises'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { type ChildGateway, prepareSite, runTollgate } from '../harness/child.ts'
import { makeFolder } from '../harness/folder.ts'
import { type Received, startUpstream } from '../harness/upstream.ts'

const requests = 400
const id = 'msgbatch_1'
/** Usage of each result: 400 × (10 × 1.00 + 4 × 5.00) per million, halved for batches. */
const usage = { input_tokens: 10, output_tokens: 4 }
const amount = 6_000

const results = Array.from({ length: requests }, (_, i) =>
  JSON.stringify({ custom_id: `c${i}`, result: { type: 'succeeded', message: { model: 'sim-messages', usage } } }),
)

/** A batch that has ended by its first poll; `at` receives each request before it is answered. */
function batchSite(at: (received: Received) => void) {
  return (res: import('node:http').ServerResponse, received: Received): void => {
    at(received)
    if (received.url.endsWith('/results')) {
      res.writeHead(200, { 'content-type': 'application/x-jsonl' })
      return void res.end(results.join('\n'))
    }
    const state = received.method === 'POST' ? 'in_progress' : 'ended'
    res.writeHead(200, { 'content-type': 'application/json' })
    res.end(JSON.stringify({ id, type: 'message_batch', processing_status: state, results_url: null }))
  }
}

t.test(
  'a gateway that was killed before it had charged a batch charges each result once after its restart',
  async t => {
    const { folder } = await makeFolder(t)
    let reached = Promise.withResolvers<void>()
    let wanted = /^GET [^ ]+1$/
    const upstream = await startUpstream(
      batchSite(({ method, url }) => void (wanted.test(`${method} ${url}`) && reached.resolve())),
    )
    t.teardown(() => upstream.close())
    const site = await prepareSite(folder, { upstreams: { text: upstream.url } })
    const db = new DatabaseSync(site.database, { timeout: 10_000 })
    t.teardown(() => db.close())
    let gateway: ChildGateway = site.start()
    t.teardown(() => gateway.kill())
    const params = { model: 'sim-messages', max_tokens: 16, messages: [{ role: 'user', content: 'Say yes.' }] }
    const list = Array.from({ length: requests }, (_, i) => ({ custom_id: `c${i}`, params }))
    const made = await fetch(`${await gateway.ready}/v1/messages/batches`, {
      method: 'POST',
      headers: { 'x-api-key': site.key, 'anthropic-version': '2023-06-01', 'content-type': 'application/json' },
      body: JSON.stringify({ requests: list }),
    })
    t.match(await made.json(), { id, processing_status: 'in_progress' })
    await reached.promise
    await gateway.kill()
    t.equal(chargeOf(db).state, 'reserved', 'killed when the upstream reports the end')

    reached = Promise.withResolvers()
    wanted = /results$/
    gateway = site.start()
    await reached.promise
    await gateway.kill()
    t.equal(chargeOf(db).state, 'reserved', 'killed while the results are read')

    // The items of the charge are written, but not its end.
    db.exec(`CREATE TRIGGER stop BEFORE UPDATE OF state ON charge WHEN new.state = 'settled'
    BEGIN SELECT RAISE(ABORT, 'not yet'); END`)
    gateway = site.start()
    for (let i = 0; linesOf(db) < 2 && i < 3_000; i++) await wait(10)
    await gateway.kill()
    t.match(chargeOf(db), { state: 'reserved', line_count: 2 }, 'killed between the items and the end of the charge')
    db.exec('DROP TRIGGER stop')

    gateway = site.start()
    for (let i = 0; chargeOf(db).state === 'reserved' && i < 3_000; i++) await wait(10)
    t.match(chargeOf(db), { state: 'settled', amount, line_count: 2 })
    const lines = db.prepare('SELECT tier, quantity FROM line ORDER BY idx').all()
    t.strictSame(
      lines.map(line => ({ ...line })),
      [
        { tier: 'input', quantity: requests * usage.input_tokens },
        { tier: 'output', quantity: requests * usage.output_tokens },
      ],
    )
    await gateway.stop()
    const verified = await runTollgate(site, ['ledger', 'verify', '-c', site.config], {})
    t.equal(verified.code, 0, verified.stderr + verified.stdout)
    const replayed = await runTollgate(site, ['ledger', 'replay', '-c', site.config], {})
    t.equal(replayed.code, 0, replayed.stderr + replayed.stdout)
  },
)

type ChargeRow = { readonly state: string; readonly amount: number; readonly line_count: number }

function chargeOf(db: DatabaseSync): ChargeRow {
  const rows = db.prepare('SELECT state, amount, line_count FROM charge').all()
  if (rows.length !== 1) throw new Error(`${rows.length} charges`)
  return { ...rows[0] } as unknown as ChargeRow
}

function linesOf(db: DatabaseSync): number {
  return Number(db.prepare('SELECT count(*) AS count FROM line').get()?.['count'])
}
