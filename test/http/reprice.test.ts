import t, { type Test } from 'tap'
import { repriceCharges, replayCharge } from '../../src/index.ts'
import { replayCosts } from '../../src/gateway/what-if.ts'
import { type Charge, type CompiledConfig, repricedId, type Storage } from '../../src/domain/index.ts'
import { caseName } from '../harness/case-name.ts'
import { runCli } from '../harness/cli.ts'
import { picture } from '../harness/pictures.ts'
import { startPostgres } from '../harness/postgres.ts'
import { askAll, randomRequests, randomYaml } from '../harness/random-prices.ts'
import { seed as suiteSeed, diceOf } from '../harness/seed.ts'
import { start } from '../harness/start.ts'

const hour = 3_600_000
/** The end of a whole quarter hour, after all charges. */
const costsUntil = Math.ceil(Date.now() / 900_000 + 96) * 900_000
const ever = { since: 0, until: Date.now() + 24 * hour }
const apply = { by: 'command line', reason: 'wrong prices' }

/** The sums of keys, Costs and the statement, and the sum of the charges themselves. */
async function sumsOf({ books, journal, keys }: Storage) {
  const costs = await journal.costs({ since: 0, until: costsUntil, bars: [0], by: null, where: {} })
  const statement = await books.statement({ from: 0, until: Date.now() + 24 * hour })
  const all = await allOf(books)
  const add = <T>(rows: readonly T[], of: (row: T) => number) => rows.reduce((sum, row) => sum + of(row), 0)
  return {
    charges: add(all, ({ state, amount, refunded }) => (state === 'settled' ? amount - refunded : 0)),
    costs: add(costs.rows, ({ amount, refunded }) => amount - refunded),
    statement: add(statement.accounts, ({ charged, refunded }) => charged - refunded),
    keys: add(await keys.list({ limit: 1_000 }), ({ spent }) => spent),
  }
}

async function allOf(books: Storage['books']): Promise<readonly Charge[]> {
  const all: Charge[] = []
  for (let after: string | null = null; ; after = all.at(-1)?.id ?? null) {
    const page: readonly Charge[] = await books.all(after, 500)
    if (page.length === 0) return all
    all.push(...page)
  }
}

/** Checks the books: every invariant holds, every charge matches its own facts, and all sums are equal. */
async function isSound(t: Test, storage: Storage, plan: CompiledConfig, name: string): Promise<number> {
  const audit = await storage.books.verify()
  t.strictSame([audit.problems, audit.sums, audit.budgets], [[], [], 0], `${name}: verify`)
  for (const charge of await allOf(storage.books))
    t.strictSame(await replayCharge(charge, plan), [], `${name}: ${charge.id}`)
  const sums = await sumsOf(storage)
  for (const [part, sum] of Object.entries(sums)) t.equal(sum, sums.charges, `${name}: ${part}`)
  return sums.charges
}

async function repriceRandomly(t: Test, seed: number, env: { readonly [name: string]: string }) {
  const dice = diceOf(seed)
  const { started, charges } = await askAll(t, randomYaml(dice), randomRequests(dice, 20), env)
  const { storage } = started.gateway
  const before = await isSound(t, storage, started.plan, 'before')
  for (const round of [1, 2]) {
    const { plan } = await askAll(t, randomYaml(dice), []).then(({ started: other }) => other)
    const name = caseName({ seed, round })
    const expected = await replayCosts(plan, storage.books, ever)
    const then = (await sumsOf(storage)).charges
    const seen = await repriceCharges(plan, storage, ever)
    t.match(seen, { before: expected.before, after: expected.after, booked: 0 }, `${name}: compared`)
    t.equal((await sumsOf(storage)).charges, then, `${name}: nothing is booked without apply`)
    const done = await repriceCharges(plan, storage, ever, { apply })
    t.equal(done.booked, seen.changed, name)
    const now = await isSound(t, storage, plan, name)
    t.equal(now, then + expected.after - expected.before, `${name}: the difference is booked`)
    const again = await repriceCharges(plan, storage, ever, { apply })
    t.match(again, { changed: 0, booked: 0, before: again.after }, `${name}: once`)
  }
  t.ok(before > 0)
  for (const charge of charges.filter(one => one !== undefined))
    t.match(
      await storage.ledger.find(charge.id),
      { amount: charge.amount, lines: charge.lines, endedAt: charge.endedAt },
      'a charge itself does not change',
    )
}

for (const nth of [1, 2, 3])
  t.test(`random charges are repriced, SQLite, ${nth}`, async t => repriceRandomly(t, suiteSeed + nth, {}))

t.test('random charges are repriced, PostgreSQL', async t => {
  const server = await startPostgres()
  t.teardown(() => server.close())
  await repriceRandomly(t, suiteSeed + 4, { TOLLGATE_STORAGE: await server.createDatabase() })
})

const dearer = (text: string): string =>
  text.replace('alpha, prices: { 1K: "0.02", 2K: "0.04"', 'alpha, prices: { 1K: "0.03", 2K: "0.05"')

t.test('an operator applies corrected prices from the command line', async t => {
  const started = await start(t, { upstreams: ['alpha', 'text'] })
  started.upstream.answer({ created: 1, data: [picture(1000, 1000), picture(2000, 1000)] })
  const { key, id: keyId } = await started.newKey({ budget: 100_000 })
  const ask = () =>
    started.post(
      '/v1/images/generations',
      { model: 'alpha-image-2', prompt: 'a', n: 2, size: '1024x1024' },
      { authorization: `Bearer ${key}` },
    )
  const id = (await ask()).headers.get('x-request-id') ?? ''
  await started.settled()
  const { storage } = started.gateway
  const { readFile } = await import('node:fs/promises')
  const yaml = dearer(await readFile(new URL('../../gateway.yaml', import.meta.url), 'utf8'))
  const cli = (...args: string[]) => runCli({ folder: started.folder, yaml }, 'ledger', 'reprice', ...args)

  t.match(await cli('--since', '1h'), {
    code: 2,
    stderr: /use --dry-run to print the differences or --apply to book them/,
  })
  t.match(await cli('--since', '1h', '--apply', '--dry-run'), { code: 2 })
  t.match(await cli('--apply'), { code: 2, stderr: /--since/ })
  t.match(await cli('--since', 'never', '--dry-run'), { code: 2, stderr: /--since never: expected a date/ })
  t.match(await cli('--since', '1h', '--until', '2h', '--dry-run'), {
    code: 2,
    stderr: /--since must be before --until/,
  })

  const dry = await cli('--since', '1h', '--dry-run')
  t.match(dry, {
    code: 0,
    stdout: /alpha-image-2 +1 +0\.06 +0\.08 +\+0\.02\n/,
    stderr: /1 charge would be refunded and charged again; use --apply/,
  })
  t.match(await storage.ledger.find(id), { refunded: 0 })
  const json = await cli('--since', '1h', '--apply', '--reason', 'the list was wrong', '--format', 'json')
  t.match(JSON.parse(json.stdout), {
    charges: 1,
    before: '0.06',
    after: '0.08',
    difference: '0.02',
    changed: 1,
    booked: 1,
  })
  t.match(await storage.ledger.find(id), { state: 'settled', amount: 60_000, refunded: 60_000 })
  t.match((await storage.books.refundsOf(id))[0], {
    by: 'command line',
    reason: `repriced as ${repricedId(id)}: the list was wrong`,
  })
  t.match(await storage.ledger.find(repricedId(id)), {
    amount: 80_000,
    refunded: 0,
    model: 'alpha-image-2',
    keyId,
    reason: `reprices ${id}: the list was wrong`,
  })
  t.match(
    (await storage.keys.list({ limit: 1_000 })).find(one => one.id === keyId),
    { spent: 80_000 },
    'the budget has the new price',
  )
  const shown = await started.get(`/v1/charges/${repricedId(id)}`, { authorization: `Bearer ${key}` })
  t.match(await shown.json(), { amount: '0.08', state: 'settled' })
  t.match(await cli('--since', '1h', '--apply'), { code: 0, stderr: /0 charges refunded and charged again/ }, 'once')
  const verified = await runCli({ folder: started.folder }, 'ledger', 'verify')
  t.match(verified, { code: 0, stderr: /2 charges, 4 lines, 3 entries: 0 problems/ })
})

t.test('the replacement is paid from the balance that paid the charge', async t => {
  const started = await start(t, { upstreams: ['alpha', 'text'] })
  const { storage } = started.gateway
  const spentOfBalance = async () => (await storage.books.levels()).find(one => one.kind === 'balance')?.spent.total
  started.upstream.answer({ created: 1, data: [picture(1000, 1000)] })
  const ask = async () =>
    (await started.post('/v1/images/generations', { model: 'alpha-image-2', prompt: 'a' })).arrayBuffer()
  await ask()
  await started.settled()
  await storage.users.topUp('local', 1_000_000, null, 'boss')
  await ask()
  await started.settled()
  t.equal(await spentOfBalance(), 20_000, 'earlier spending is not deducted')
  const { plan } = await start(t, {
    upstreams: ['alpha', 'text'],
    edit: [[/alpha, prices: \{ 1K: "0.02"/, 'alpha, prices: { 1K: "0.03"']],
  }).then(({ gateway }) => gateway)
  t.match(await repriceCharges(plan, storage, ever, { apply }), { changed: 2, booked: 2 })
  t.equal(await spentOfBalance(), 30_000)
  t.equal(await isSound(t, storage, plan, 'paid from a balance'), 60_000)
  t.match(await repriceCharges(started.plan, storage, ever, { apply }), { changed: 2, booked: 2 })
  t.equal(await spentOfBalance(), 20_000, 'and again')
  t.equal(await isSound(t, storage, started.plan, 'repriced twice'), 40_000)
})

t.test('an interrupted run can be repeated; two concurrent runs book each charge once', async t => {
  const started = await start(t, { upstreams: ['alpha', 'text'] })
  started.upstream.answer({ created: 1, data: [picture(1000, 1000)] })
  for (let i = 0; i < 12; i++)
    await (await started.post('/v1/images/generations', { model: 'alpha-image-2', prompt: 'a' })).arrayBuffer()
  await started.settled()
  const { storage } = started.gateway
  const { plan } = await start(t, {
    upstreams: ['alpha', 'text'],
    edit: [[/alpha, prices: \{ 1K: "0.02"/, 'alpha, prices: { 1K: "0.01"']],
  }).then(({ gateway }) => gateway)
  let left = 5
  const failing = {
    ...storage,
    books: {
      ...storage.books,
      reprice: (one: Parameters<Storage['books']['reprice']>[0]) =>
        left-- > 0 ? storage.books.reprice(one) : Promise.reject(new Error('the disk is full')),
    },
  }
  await t.rejects(repriceCharges(plan, failing, ever, { apply }), { message: 'the disk is full' })
  await isSound(t, storage, started.plan, 'cut off')
  const runs = await Promise.all([1, 2].map(() => repriceCharges(plan, storage, ever, { apply })))
  t.equal(
    runs.reduce((sum, { booked }) => sum + booked, 0),
    7,
    'the others, each once',
  )
  t.equal(await isSound(t, storage, started.plan, 'repeated'), 120_000)
})

t.test('a price that became free is refunded, a free one that got a price is charged, and refunds stay', async t => {
  const started = await start(t, { upstreams: ['alpha', 'text'] })
  started.upstream.answer({ created: 1, data: [picture(1000, 1000)] })
  const ask = async () => {
    const answer = await started.post('/v1/images/generations', { model: 'alpha-image-2', prompt: 'a' })
    await answer.arrayBuffer()
    await started.settled()
    return answer.headers.get('x-request-id') ?? ''
  }
  const [kept, given] = [await ask(), await ask()]
  const { storage } = started.gateway
  await storage.books.refund(given, 'somebody', 'a present')
  const priced = /alpha, prices: \{ 1K: "0.02", 2K: "0.04", 4K: "0.08" \}/
  const planOf = async (put: string) =>
    (await start(t, { upstreams: ['alpha', 'text'], edit: [[priced, `alpha, ${put}`]] })).gateway.plan
  const free = await planOf('price: free')
  t.match(await repriceCharges(free, storage, ever, { apply }), { changed: 1, booked: 1, after: 0 })
  t.match(await storage.ledger.find(kept), { refunded: 20_000 })
  t.equal(await storage.ledger.find(repricedId(kept)), undefined, 'nothing is booked for nothing')
  t.equal(await isSound(t, storage, started.plan, 'free'), 0)

  const zero = await planOf('prices: { 1K: "0", 2K: "0", 4K: "0" }')
  const nothing = await start(t, {
    upstreams: ['alpha', 'text'],
    edit: [[priced, 'alpha, prices: { 1K: "0", 2K: "0", 4K: "0" }']],
  })
  nothing.upstream.answer({ created: 1, data: [picture(1000, 1000)] })
  await (await nothing.post('/v1/images/generations', { model: 'alpha-image-2', prompt: 'a' })).arrayBuffer()
  await nothing.settled()
  const other = nothing.gateway.storage
  t.match(await repriceCharges(zero, other, ever, { apply }), { changed: 0 })
  t.match(await repriceCharges(started.plan, other, ever, { apply }), {
    changed: 1,
    booked: 1,
    before: 0,
    after: 20_000,
  })
  t.match(await repriceCharges(started.plan, other, ever, { apply }), { charges: 1, changed: 0, booked: 0 })
  t.equal(await isSound(t, other, started.plan, 'charged'), 20_000)
})

t.test('a replacement sends no event about a budget that was changed since the charge', async t => {
  const started = await start(t, { upstreams: ['alpha', 'text'] })
  const { storage } = started.gateway
  await storage.users.change('local', { budget: 100_000 }, 'boss')
  started.upstream.answer({ created: 1, data: [picture(1000, 1000)] })
  await (await started.post('/v1/images/generations', { model: 'alpha-image-2', prompt: 'a' })).arrayBuffer()
  await started.settled()
  await storage.users.change('local', { budget: 1_000_000 }, 'boss')
  const budgetEvents = async () => (await storage.events.after(0, 100)).filter(({ kind }) => kind.startsWith('budget.'))
  const before = await budgetEvents()
  const { plan } = await start(t, {
    upstreams: ['alpha', 'text'],
    edit: [[/alpha, prices: \{ 1K: "0.02"/, 'alpha, prices: { 1K: "0.09"']],
  }).then(({ gateway }) => gateway)
  t.match(await repriceCharges(plan, storage, ever, { apply }), { changed: 1, booked: 1 })
  t.same(await budgetEvents(), before)
  await isSound(t, storage, plan, 'of a user with a budget')
})
