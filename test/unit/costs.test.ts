import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import * as fc from 'fast-check'
import t, { type Test } from 'tap'
import {
  type ChargeFacts,
  type CostPart,
  costParts,
  type PlainCostQuery,
  type CostRow,
  type Costs,
  type Key,
  type ChargeItem,
  quarterMs,
  type Storage,
} from '../../src/domain/index.ts'
import { beginningOf, firstIdAt } from '../../src/util/index.ts'
import { DatabaseSync } from 'node:sqlite'
import { foldCosts } from '../../src/storage/costs/fold.ts'
import { rollUpCosts } from '../../src/storage/costs/roll-up.ts'
import { auditCosts } from '../../src/storage/costs/audit-costs.ts'
import { readCosts } from '../../src/storage/costs/read.ts'
import { costs } from '../../src/storage/migrations/0014-costs.ts'
import { costSpans } from '../../src/storage/migrations/0020-cost-spans.ts'
import { costCounts } from '../../src/storage/migrations/0026-cost-counts.ts'
import { cacheSavings } from '../../src/storage/migrations/0038-cache-savings.ts'
import { costFold } from '../../src/storage/migrations/0039-cost-fold.ts'
import { costKeys } from '../../src/storage/migrations/0025-cost-keys.ts'
import { migrations } from '../../src/storage/migrations/list.ts'
import { createPool, Session } from '../../src/storage/postgres/connect.ts'
import { migrateFrom } from '../../src/storage/postgres/migrate.ts'
import { translateSchema } from '../../src/storage/postgres/translate.ts'
import { Connection } from '../../src/storage/sqlite/connect.ts'
import { clockAt, facts, line, newKey } from '../contract/storage.ts'
import { openDatabase } from '../harness/database.ts'
import { startPostgres } from '../harness/postgres.ts'
import { copyAsOf, writeAllSpans } from '../harness/old-database.ts'
import { caseName } from '../harness/case-name.ts'

const from = Date.UTC(2026, 9, 24, 20)
const dayMs = 86_400_000
const until = from + 9 * dayMs

/** `CHARGES=100000 TAP_TIMEOUT=3000 tap test/unit/costs.test.ts` sells this many on each of the databases. */
const wished = process.env['CHARGES']
const charges = Number(wished ?? 1_200)
/** Each query reads every charge that is not in a sum yet, so with very many charges fewer queries run. */
const inTail = Math.max(4, Math.min(80, Math.floor(96_000 / charges)))
/** Number of images sold concurrently; each has commits of its own. */
const atOnce = 64

/** A charge as the test itself recorded it. */
type Sold = {
  /** The time of the settlement. */
  at: number
  readonly parts: { readonly [P in Exclude<CostPart, 'tier'>]: string }
  readonly currency: string
  readonly lines: readonly ChargeItem[]
  /** Whether the answer cache served the request. */
  readonly saved: number
  isRefunded: boolean
}

const tiers = ['1K', '2K', '4K']

/** Sells at random: images one by one, tokens in groups; refunds some and never charges others. */
async function sell(
  storage: Storage,
  clock: ReturnType<typeof clockAt>,
  count: number,
  seed: number,
  known: readonly Key[] = [],
) {
  let state = seed
  const draw = (n: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * n)
  }
  const keys = [...known]
  if (keys.length === 0) await storage.users.create({ name: 'ada', group: 'partner', role: 'user', passwordHash: null })
  for (let i = keys.length; i < 4; i++)
    keys.push(await storage.keys.create(newKey(i % 2 ? { user: 'ada', group: 'partner' } : {})))
  const sold: Sold[] = []
  const refundable: [id: string, one: Sold][] = []
  const selling: Promise<void>[] = []
  for (let i = 0; i < count; i++) {
    clock.set(clock.now() + draw((2 * (until - from)) / count))
    const at = clock.now()
    const key = keys[draw(keys.length)] as Key
    const id = firstIdAt('req_', at) + String(seed * 1_000_000 + i).padStart(10, '0')
    const plain = facts(key, {
      id,
      user: key.user,
      group: key.user === 'ada' ? 'partner' : 'default',
      model: `m${draw(5)}`,
      operation: draw(4) ? 'image.generate' : 'image.edit',
      upstream: draw(3) ? 'alpha' : 'beta',
      currency: draw(9) ? 'USD' : 'EUR',
    })
    const { user, group, model, operation, upstream, currency } = plain
    const parts = { user, group, key: key.id, model, operation, upstream }
    const isImages = draw(3) === 0
    const lines: ChargeItem[] = []
    for (let n = 1 + draw(3), at = 0; at < n; at++) {
      const price = draw(100_000)
      if (isImages) lines.push(line(at, { tier: tiers[draw(3)] ?? '', price, source: at === 0 ? 'request' : 'output' }))
      else
        lines.push(
          line(at, {
            tier: ['input', 'cached_input', i % 2 ? 'output' : 'web_search'][at] ?? '',
            source: 'output',
            width: null,
            height: null,
            price,
            quantity: draw(9_000),
          }),
        )
    }
    // Some are hits of the answer cache; the price of the original response was higher than now, or lower.
    const isHit = !isImages && draw(4) === 0
    if (isHit) lines.splice(0, lines.length, { ...(lines[0] as ChargeItem), tier: 'cached_response', quantity: 1 })
    const amount = lines.reduce((sum, { price }) => sum + price, 0)
    const full = isHit ? draw(2 * amount + 1) : undefined
    const saved = full === undefined ? 0 : Math.max(0, full - amount)
    const own = full === undefined ? plain : { ...plain, rule: { kind: 'cached_response', warnings: [], full } }
    const one = { at, parts, currency, lines, saved, isRefunded: false }
    if (isImages) {
      const isVoid = draw(12) === 0
      selling.push(sellImages(storage, clock, own, isVoid ? null : one))
      if (selling.length === atOnce) await Promise.all(selling.splice(0))
      if (isVoid) continue
    } else if (isHit && draw(2)) {
      // The key has a budget, so its charge has a row of its own.
      await storage.ledger.hold({ facts: own, hold: 400_000, idempotency: null })
      for (const each of lines) await storage.ledger.line(id, each)
      await storage.ledger.settle({ id, delivery: 'confirmed', reason: null })
    } else storage.ledger.post(own, lines, 'confirmed')
    sold.push(one)
    if (draw(25) === 0) refundable.push([id, one])
    if (draw(10) === 0) await storage.flush()
  }
  await Promise.all(selling)
  await storage.flush()
  const refund = async (few: number): Promise<void> => {
    const some = refundable.splice(0, few)
    for (let at = 0; at < some.length; at += atOnce)
      await Promise.all(some.slice(at, at + atOnce).map(([id]) => storage.books.refund(id, 'ada', 'x')))
    for (const [, one] of some) one.isRefunded = true
  }
  return { sold, refund, keys }
}

/** Stops the periodic sums: selling very many charges takes longer than the minute between two updates. */
function quietClock(): ReturnType<typeof clockAt> {
  return { ...clockAt(from), every: () => ({ cancel: () => undefined }) }
}

/** `one` is null if nothing is charged. */
async function sellImages(
  storage: Storage,
  clock: ReturnType<typeof clockAt>,
  own: ChargeFacts,
  one: Sold | null,
): Promise<void> {
  await storage.ledger.hold({ facts: own, hold: 400_000, idempotency: null })
  if (!one) return void (await storage.ledger.void(own.id, 'refused'))
  for (const each of one.lines) await storage.ledger.line(own.id, each)
  // Other charges were made in the meantime, hours ago.
  one.at = clock.now()
  await storage.ledger.settle({ id: own.id, delivery: 'confirmed', reason: null })
}

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
const bySum = (a: CostRow, b: CostRow): number =>
  a.bar - b.bar ||
  (a.currency < b.currency ? -1 : a.currency > b.currency ? 1 : 0) ||
  compareText(a.what ?? '', b.what ?? '')

/** Returns the names with the highest costs. */
function dearest(sold: readonly Sold[], question: PlainCostQuery, most: number): ReadonlySet<string> {
  const sums = new Map<string, number>()
  for (const { what, amount } of count(sold, {
    since: question.since,
    until: question.until,
    bars: question.bars,
    by: question.by,
    where: question.where,
  }))
    sums.set(what ?? '', (sums.get(what ?? '') ?? 0) + amount)
  const inOrder = [...sums].sort(([a, x], [b, y]) => y - x || compareText(a, b))
  return new Set(inOrder.slice(0, most).map(([what]) => what))
}

/** Computes the same rows from the test's own list. */
function count(sold: readonly Sold[], question: PlainCostQuery): readonly CostRow[] {
  const { since, until, bars, by, where, apart } = question
  const names =
    by === null || apart === undefined
      ? null
      : typeof apart === 'number'
        ? dearest(sold, question, apart)
        : new Set(apart)
  const rows = new Map<
    string,
    { readonly row: { -readonly [N in keyof CostRow]: CostRow[N] }; readonly seen: Set<string> }
  >()
  for (const [place, one] of sold.entries()) {
    if (one.at < since || one.at >= until) continue
    for (const [i, { tier, price, quantity }] of one.lines.entries()) {
      const parts = { ...one.parts, tier }
      if (costParts.some(part => where[part] !== undefined && where[part] !== parts[part])) continue
      const bar = barOf(bars, one.at)
      const own = by === null ? '' : parts[by]
      const what = names && !names.has(own) ? null : own
      const name = `${bar} ${what} ${one.currency}`
      const blank = {
        bar,
        what,
        currency: one.currency,
        charges: 0,
        images: 0,
        amount: 0,
        refunded: 0,
        quantity: 0,
        tokens: 0,
        saved: 0,
      }
      const { row, seen } = rows.get(name) ?? { row: blank, seen: new Set<string>() }
      rows.set(name, { row, seen })
      // A charge with two tiers counts once in each, even if both are in the group of the others.
      const mark = `${place} ${by === 'tier' ? own : ''}`
      if (!seen.has(mark)) row.charges++
      seen.add(mark)
      row.images += quantity === null ? 1 : 0
      row.amount += price
      row.refunded += one.isRefunded ? price : 0
      row.quantity += quantity ?? 0
      row.tokens += ['web_search', 'cached_response'].includes(tier) ? 0 : (quantity ?? 0)
      row.saved += i === 0 ? one.saved : 0
    }
  }
  return [...rows.values()].map(({ row }) => row).sort(bySum)
}

/** The last bar that begins at or before a time. A binary search: a linear one over bars of a quarter hour is slow. */
function barOf(bars: readonly number[], at: number): number {
  let [low, high] = [0, bars.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((bars[middle] as number) <= at) low = middle + 1
    else high = middle
  }
  return low - 1
}

const values: { readonly [P in CostPart]: readonly string[] } = {
  user: ['ada', 'local', 'nobody'],
  group: ['default', 'partner'],
  key: ['?'],
  model: ['m0', 'm1', 'm4'],
  operation: ['image.edit', 'image.generate'],
  upstream: ['alpha', 'beta'],
  tier: ['4K', '1K', 'input', 'output'],
}
const where = fc.oneof(
  fc.constant({}),
  ...costParts.map(part => fc.constantFrom(...values[part]).map(value => ({ [part]: value }))),
  fc
    .tuple(fc.constantFrom(...costParts), fc.constantFrom(...costParts), fc.nat(3), fc.nat(3))
    .map(([a, b, i, j]) => ({ [a]: values[a][i % values[a].length], [b]: values[b][j % values[b].length] })),
)
/** Two zones put their clocks back in this span; two differ from UTC by fractions of an hour. */
const zones = ['Europe/Berlin', 'America/New_York', 'Asia/Kathmandu', 'Asia/Kolkata', 'UTC'] as const
const daysThere: fc.Arbitrary<PlainCostQuery> = fc
  .record({
    zone: fc.constantFrom(...zones),
    ends: fc.tuple(fc.nat(10), fc.nat(10)),
    by: fc.constantFrom(null, ...costParts),
    where,
  })
  .map(({ zone, ends: [a, b], by, where }) => {
    const first = Date.UTC(2026, 9, 24 + Math.min(a, b))
    const end = first + (Math.abs(a - b) + 1) * dayMs
    const bars: number[] = []
    for (let day = first; day < end; day += dayMs) bars.push(beginningOf(zone, day))
    return { since: beginningOf(zone, first), until: beginningOf(zone, end), bars, by, where }
  })
const anyQuarters: fc.Arbitrary<PlainCostQuery> = fc
  .record({
    ends: fc.tuple(fc.nat(960), fc.nat(960)),
    step: fc.constantFrom(1, 4, 96, 97, 2_000),
    by: fc.constantFrom(null, ...costParts),
    where,
  })
  .map(({ ends: [a, b], step, by, where }) => {
    const since = from - 3_600_000 + Math.min(a, b) * quarterMs
    const end = since + (Math.abs(a - b) + 1) * quarterMs
    const bars: number[] = []
    for (let at = since; at < end; at += step * quarterMs) bars.push(at)
    return { since, until: end, bars, by, where }
  })

const questions = fc
  .tuple(fc.oneof(anyQuarters, daysThere), fc.constantFrom(undefined, 1, 2, 3, [], ['ada', 'm0', 'm4', '4K', 'beta']))
  .map(([question, apart]): PlainCostQuery => ({ ...question, ...(apart !== undefined && { apart }) }))

async function compare(
  t: Test,
  sold: readonly Sold[],
  queries: readonly PlainCostQuery[],
  ask: (question: PlainCostQuery) => Costs | Promise<Costs>,
  stage: string,
): Promise<void> {
  let [rows, wrong] = [0, 0]
  for (const question of queries) {
    const found = [...(await ask(question)).rows].sort(bySum)
    const own = count(sold, question)
    rows += own.length
    if (JSON.stringify(found) === JSON.stringify(own)) continue
    if (wrong++ === 0) t.same(found, own, `${stage}: ${JSON.stringify(question)}`)
  }
  t.equal(wrong, 0, `${stage}: ${queries.length} questions, ${rows} rows`)
  t.ok(rows > queries.length, 'there is something to compare')
}

/** Tests that each day's costs match its statement, whatever the time of the hold. */
async function compareDays(t: Test, storage: Storage): Promise<void> {
  let charged = 0
  for (let day = from - (from % dayMs); day < until + 2 * dayMs; day += dayMs) {
    const query = { since: day, until: day + dayMs, bars: [day], by: null, where: {} }
    const { counted } = await storage.books.statement({ from: day, until: day + dayMs })
    const { rows } = await storage.journal.costs(query)
    t.equal(
      rows.reduce((sum, { amount }) => sum + amount, 0),
      counted.charged,
      caseName({ day }),
    )
    t.equal(
      rows.reduce((sum, { charges }) => sum + charges, 0),
      counted.charges,
      caseName({ day, charges: '' }),
    )
    charged += counted.charged
  }
  t.ok(charged > 0, 'something was charged')
}

/** The earlier version counted a charge once per tier only in sums by tier. */
const oldCounts = `CASE WHEN part = 'tier' THEN charges ELSE firsts END, firsts, images, amount, refunded`

/** The sums of the earlier version, which had one table by all facts and one by each single fact. */
function copyOld(path: string, old: string): void {
  copyAsOf(migrations.indexOf(costSpans), path, old)
  const db = new DatabaseSync(old)
  const isQuarter = 'span % 8 = 0'
  const counts = 'charges, firsts, images, amount, refunded'
  const names = 'key_id, user_name, group_name, model, operation, upstream, tier, currency'
  db.exec(`ATTACH '${path}' AS source;
    INSERT INTO cost_sum (quarter, ${names}, ${counts}) SELECT span / 8, ${names}, ${counts}
      FROM source.cost_place_sum JOIN source.cost_place ON id = place WHERE detail = 'key' AND ${isQuarter};
    INSERT INTO cost_part (part, quarter, what, currency, ${counts}) SELECT part, span / 8, what, currency, ${oldCounts}
      FROM source.cost_part_sum WHERE ${isQuarter};
    INSERT INTO cost_chain SELECT chain, position FROM source.cost_progress; DETACH source`)
  db.close()
}

t.test('costs equal the ledger, at every stage of summing', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-costs-'))
  const clock = quietClock()
  const path = join(folder, 'tollgate.db')
  const storage = await openDatabase({ url: `sqlite:${path}`, clock })
  const connection = new Connection(path)
  t.teardown(async () => {
    connection.close()
    await storage.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const { sold, refund, keys } = await sell(storage, clock, charges, 7)
  const queries = fc.sample(questions, { numRuns: 80, seed: 11 })
  const ask = (question: PlainCostQuery) => connection.snapshot(readCosts(question))
  const addUp = (): number => connection.transact(() => connection.run(rollUpCosts()))

  await compare(t, sold, queries.slice(0, Math.min(20, inTail)), ask, 'nothing added up')
  t.ok(ask(queries[0] as PlainCostQuery).tail >= sold.length, 'all of it was looked at one by one')
  await refund(20)
  const half = Math.max(3, Math.floor(charges / 400))
  for (let i = 0; i < half; i++) t.ok(addUp() > 0, caseName({ i }))
  await compare(t, sold, queries.slice(0, inTail), ask, 'half of it, some given back')
  const old = join(folder, 'old.db')
  copyOld(path, old)
  const migrated = await openDatabase({ url: `sqlite:${old}`, clock })
  await compare(
    t,
    sold,
    queries.slice(0, inTail),
    question => migrated.journal.costs(question),
    'as a version before had added it up',
  )
  t.same((await migrated.books.verify()).sums, [], 'and every sum is right')
  await migrated.close()
  while (addUp() > 0);
  await compare(t, sold, queries, ask, 'all of it')
  t.equal(ask(queries[0] as PlainCostQuery).tail, 0)
  const audited = await storage.books.verify()
  t.same([...audited.problems, ...audited.sums], [])

  const fold = (at: number) => connection.transact(() => connection.run(foldCosts(at, { names: 2, places: 20 })))
  for (let step = 0; fold(from + 5 * dayMs); step++) {
    if (step % 60 !== 30) continue
    await compare(t, sold, queries.slice(0, 8), ask, `in long spans, step ${step}`)
    await refund(2)
    while (addUp() > 0);
    await compare(t, sold, queries.slice(0, 8), ask, `in long spans, step ${step}, some given back`)
    t.same((await storage.books.verify()).sums, [], caseName({ step }))
  }
  await compare(t, sold, queries, ask, 'in long spans')
  t.same((await storage.books.verify()).sums, [], 'and every sum is right')
  await refund(1_000)
  await compare(t, sold, queries, ask, 'more given back')
  t.ok(sold.filter(one => one.isRefunded).length > 40, 'some was given back')
  while (addUp() > 0);
  await compare(t, sold, queries, ask, 'that too')
  t.same((await storage.books.verify()).sums, [], 'sums are as the charges')
  await compareDays(t, storage)

  const damages = [
    'UPDATE cost_part_sum SET amount = amount + 1 WHERE what = (SELECT max(what) FROM cost_part_sum)',
    'DELETE FROM cost_place_sum WHERE span = (SELECT max(span) FROM cost_place_sum)',
    `INSERT INTO cost_part_sum VALUES ('model', 8, 'another', 'USD', 1, 1, 0, 5, 0, 0, 0, 0)`,
    `UPDATE cost_part_sum SET saved = saved + 1 WHERE part = 'tier' AND what = 'cached_response'`,
    'UPDATE cost_image_sum SET images = images + 1',
    'UPDATE cost_key_sum SET amount = amount + 1 WHERE key_id = (SELECT max(key_id) FROM cost_key_sum)',
  ]
  const ofEachLength = ['cost_part_sum', 'cost_place_sum', 'cost_image_sum', 'cost_key_sum'].flatMap(table => {
    const count = table === 'cost_image_sum' ? 'images' : 'amount'
    return [0, 1, 2, 3, 4].map(
      length => `UPDATE ${table} SET ${count} = ${count} + 1
        WHERE span = (SELECT min(span) FROM ${table} WHERE span % 8 = ${length})`,
    )
  })
  for (const sql of [...damages, ...ofEachLength]) {
    connection.db.exec(`SAVEPOINT damage; ${sql}`)
    const reported: string[] = []
    connection.run(auditCosts(problem => void reported.push(problem)))
    t.match(reported[0], /^the cost sum \(.+\) differs from the charges$/, caseName({ sql }))
    connection.db.exec('ROLLBACK TO damage; RELEASE damage')
  }
  t.throws(
    () => connection.db.exec(`INSERT INTO cost_progress (pass, chain, position) VALUES (0, 'gateway', 1)`),
    /keyed/,
    'a version that knows nothing of keys adds nothing up',
  )
  connection.db.exec(damages.join(';'))
  t.ok((await storage.books.verify()).sums.length > 3, 'and verification reports it')

  for (let step = 0; step < 30; step++) t.ok(fold(from + 6 * dayMs), caseName({ step }))
  const ends = connection.all({ sql: 'SELECT folded < target AS isUnderWay FROM cost_fold WHERE pass = 0', params: [] })
  t.same(ends, [{ isUnderWay: 1 }])

  let state = await storage.books.rebuildCosts()
  for (let i = 0; i < 4; i++) state = await storage.books.rebuildCosts(state)
  t.ok(state.added > 0 && state.added < state.all && !state.isDone, 'it was broken off half-way')
  clock.set(from + 86_400_000)
  const { sold: more } = await sell(storage, clock, 30, 8, keys)
  addUp()
  let steps = 0
  for (state = await storage.books.rebuildCosts(); !state.isDone; steps++)
    state = await storage.books.rebuildCosts(state)
  t.ok(steps > 3, caseName({ steps }))
  await compare(t, [...sold, ...more], queries, ask, 'made anew, while something was sold')
  t.equal(ask(queries[0] as PlainCostQuery).tail, 0)
  t.same((await storage.books.verify()).sums, [], 'and right again')
  t.equal(connection.all({ sql: 'SELECT DISTINCT pass FROM cost_progress', params: [] }).length, 1)
  t.same(
    connection.all({ sql: 'SELECT min(span) >= ? AS isNew FROM cost_part_sum', params: [2 ** 40] })[0]?.['isNew'],
    1,
    'nothing is left of the old ones',
  )
  t.same(
    connection.all({
      sql: 'SELECT count(DISTINCT folded) AS ends, min(folded) > 0 AS areOver FROM cost_fold',
      params: [],
    }),
    [{ ends: 1, areOver: 1 }],
    'they have the same long spans',
  )
  const stepNow = () =>
    connection.all({ sql: `SELECT value FROM meta WHERE name = 'cost_rebuild'`, params: [] })[0]?.['value']
  for (state = await storage.books.rebuildCosts(); stepNow() !== 3; ) state = await storage.books.rebuildCosts(state)
  connection.db.exec('UPDATE cost_part_sum SET amount = amount + 1')
  for (state = await storage.books.rebuildCosts(); !state.isDone; ) state = await storage.books.rebuildCosts(state)
  t.same((await storage.books.verify()).sums, [], 'made anew where the last time was broken off while it cleared away')
  sold.push(...more)
  for (let step = 0; fold(until + 40 * dayMs); step++)
    if (step % 300 === 0) await compare(t, sold, queries.slice(0, 8), ask, `in long spans again, step ${step}`)
  await compare(t, sold, queries, ask, 'in long spans again')
  t.same((await storage.books.verify()).sums, [], 'and right')
  const everything = {
    since: 0,
    until: Math.ceil((until + 86_400_000) / quarterMs) * quarterMs,
    bars: [0],
    by: null,
    where: {},
  }
  const [totals] = connection.all({
    sql: `SELECT sum(spent) AS spent FROM key`,
    params: [],
  })
  const net = ask(everything).rows.reduce((sum, { amount, refunded }) => sum + amount - refunded, 0)
  t.equal(net, totals?.['spent'], 'as the keys have spent')
  t.same((await storage.journal.costs(everything)).rows, ask(everything).rows, 'as the storage answers')
})

/** A gateway on a database of the version before a migration, with sums of all lengths. It has not run a chore yet. */
async function openEarlier(t: Test, version: (typeof migrations)[number], charges: number) {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-costs-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'tollgate.db')
  const clock = quietClock()
  const storage = await openDatabase({ url: `sqlite:${path}`, clock })
  const { sold, keys } = await sell(storage, clock, charges, 7)
  const connection = new Connection(path)
  writeAllSpans(connection)
  while (connection.transact(() => connection.run(rollUpCosts())) > 0);
  connection.close()
  await storage.close()
  const old = join(folder, 'old.db')
  copyAsOf(migrations.indexOf(version), path, old)

  const chores: (() => void)[] = []
  const paced = {
    ...clock,
    every(_ms: number, chore: () => void) {
      chores.push(chore)
      return { cancel() {} }
    },
  }
  const migrated = await openDatabase({ url: `sqlite:${old}`, clock: paced })
  return { sold, keys, old, clock, migrated, runChores: () => chores.forEach(chore => chore()) }
}

const lacking = [
  { version: costCounts, counts: { tokens: 0, quantity: 0 } },
  { version: cacheSavings, counts: { saved: 0 } },
]
for (const { version, counts } of lacking)
  t.test(
    `a gateway recomputes sums of an earlier version that do not have ${Object.keys(counts).join(' and ')}`,
    async t => {
      const { sold, old, migrated, runChores } = await openEarlier(t, version, 60)
      t.teardown(() => migrated.close())
      const queries = fc.sample(questions, { numRuns: 40, seed: 3 })
      const everything = {
        since: 0,
        until: Math.ceil((until + dayMs) / quarterMs) * quarterMs,
        bars: [0],
        by: null,
        where: {},
      }
      const [before] = (await migrated.journal.costs(everything)).rows
      t.match(before, counts, 'the sums of before lack them')
      t.ok((before?.amount ?? 0) > 0)
      t.same((await migrated.books.verify()).sums, [], 'and are not called wrong for it')
      runChores()
      for (const look = new Connection(old); ; await setTimeout(5)) {
        const [row] = look.all({ sql: `SELECT value FROM meta WHERE name = 'cost_rebuild'`, params: [] })
        if (row?.['value'] !== 0) continue
        look.close()
        break
      }
      await compare(t, sold, queries, question => migrated.journal.costs(question), 'made anew by the gateway')
      t.same((await migrated.books.verify()).sums, [], 'and every sum is right')
    },
  )

t.test('a gateway continues the long spans of an earlier version, which wrote them at once', async t => {
  const { sold, keys, old, clock, migrated, runChores } = await openEarlier(t, costFold, 300)
  const look = new Connection(old)
  t.teardown(async () => {
    look.close()
    await migrated.close()
  })
  const first = (sql: string) => look.all({ sql, params: [] })[0]?.['value']
  const folded = Number(first('SELECT folded AS value FROM cost_fold WHERE pass = 0'))
  const newest = Math.max(...sold.map(({ at }) => Math.floor(at / quarterMs)))
  t.ok(folded > newest - 16 && folded <= newest, caseName({ folded, newest }))
  const later =
    'SELECT count(*) AS value FROM cost_place_sum, cost_fold WHERE pass = 0 AND span % 8 = 2 AND span / 8 = folded / 96'
  t.ok(Number(first(later)) > 0, 'the day that is not over has sums')
  const queries = fc.sample(questions, { numRuns: 40, seed: 3 })
  const ask = (question: PlainCostQuery) => migrated.journal.costs(question)
  await compare(t, sold, queries, ask, 'as migrated')
  t.same((await migrated.books.verify()).sums, [])

  const { sold: more } = await sell(migrated, clock, 40, 8, keys)
  sold.push(...more)
  await compare(t, sold, queries, ask, 'with more charges')
  // Far beyond the day after the last charge.
  clock.set(clock.now() + 20 * dayMs)
  runChores()
  while (first('SELECT folded % 1536 AS value FROM cost_fold WHERE pass = 0') !== 0) await setTimeout(5)
  t.ok(Number(first(later.replace('folded / 96', `${newest} / 96`))) > 0)
  await compare(t, sold, queries, ask, 'with more long spans')
  t.same((await migrated.books.verify()).sums, [])
})

t.test('the same on PostgreSQL, summed by three processes at once', async t => {
  const postgres = await startPostgres(['fsync=off'])
  t.teardown(() => postgres.close())
  const url = await postgres.createDatabase()
  const clock = quietClock()
  const storage = await openDatabase({ url, clock })
  t.teardown(() => storage.close())
  const { sold, refund } = await sell(storage, clock, wished === undefined ? 240 : charges, 3)
  await refund(10)
  // Statements of very many charges take long on a busy machine.
  const pool = createPool(url, 3, 600_000)
  t.teardown(() => pool.end())
  const queries = fc.sample(questions, { numRuns: wished === undefined ? 16 : 80, seed: 5 })
  const ask = (question: PlainCostQuery) => storage.journal.costs(question)
  await compare(t, sold, queries.slice(0, Math.min(6, inTail)), ask, 'nothing added up')
  const addUp = async (): Promise<number> => {
    const client = await pool.connect()
    await client.query('BEGIN')
    const count = await new Session(client).run(rollUpCosts())
    await client.query('COMMIT')
    client.release()
    return count
  }
  for (let counts = [1]; counts.some(count => count > 0); ) counts = await Promise.all([addUp(), addUp(), addUp()])
  await compare(t, sold, queries, ask, 'all of it')
  t.equal((await ask(queries[0] as PlainCostQuery)).tail, 0)
  t.same((await storage.books.verify()).sums, [])
  const fold = async (): Promise<boolean> => {
    const client = await pool.connect()
    await client.query('BEGIN')
    const isMore = await new Session(client).run(foldCosts(until + 40 * dayMs, { names: 5, places: 50 }))
    await client.query('COMMIT')
    client.release()
    return isMore
  }
  for (let step = 0, isMore = true; isMore; step++) {
    isMore = (await Promise.all([fold(), fold(), fold()])).includes(true)
    if (step !== 10) continue
    await refund(10)
    while ((await addUp()) > 0);
    await compare(t, sold, queries, ask, 'in some long spans')
  }
  await compare(t, sold, queries, ask, 'in long spans')
  t.same((await storage.books.verify()).sums, [])
  for (let state = await storage.books.rebuildCosts(); !state.isDone; ) state = await storage.books.rebuildCosts(state)
  await compare(t, sold, queries, ask, 'made anew')
  await compareDays(t, storage)
  t.same((await storage.books.verify()).sums, [])
  await migrateAgain(pool)
  await compare(t, sold, queries, ask, 'as a version before had added it up')
  t.same((await storage.books.verify()).sums, [])
})

/** Resets the sums to the earlier version and migrates them again. */
async function migrateAgain(pool: ReturnType<typeof createPool>): Promise<void> {
  const client = await pool.connect()
  const [isQuarter, pass] = ['span % 8 = 0', 2 ** 40]
  const counts = 'charges, firsts, images, amount, refunded'
  const names = 'key_id, user_name, group_name, model, operation, upstream, tier, currency'
  const quarter = `(span % ${pass}) / 8`
  const at = migrations.indexOf(costSpans)
  for (const sql of costs.filter(sql => sql.startsWith('CREATE'))) await client.query(translateSchema(sql))
  await client.query(`INSERT INTO cost_sum (quarter, ${names}, ${counts}) SELECT ${quarter}, ${names}, ${counts}
    FROM cost_place_sum JOIN cost_place ON id = place WHERE detail = 'key' AND ${isQuarter}`)
  await client.query(`INSERT INTO cost_part (part, quarter, what, currency, ${counts})
    SELECT part, ${quarter}, what, currency, ${oldCounts} FROM cost_part_sum WHERE ${isQuarter}`)
  await client.query('INSERT INTO cost_chain SELECT chain, position FROM cost_progress')
  await client.query(
    'DROP TABLE cost_place, cost_place_sum, cost_part_sum, cost_image_sum, cost_kind, cost_progress, cost_key_sum',
  )
  await client.query('DROP INDEX charge_late')
  await client.query(`DELETE FROM meta WHERE name = 'cost_rebuild'; UPDATE meta SET value = 0 WHERE name = 'costed'`)
  await client.query('BEGIN')
  await migrateFrom(client, at, at + 1)
  const keys = migrations.indexOf(costKeys)
  await migrateFrom(client, keys, keys + 1)
  const counted = migrations.indexOf(costCounts)
  await migrateFrom(client, counted, counted + 1)
  for (const table of ['cost_label_part', 'cost_label_model', 'cost_label_sum'])
    await client.query(`ALTER TABLE ${table} DROP COLUMN saved`)
  const saving = migrations.indexOf(cacheSavings)
  await migrateFrom(client, saving, saving + 1)
  await client.query('COMMIT')
  client.release()
}
