import { DatabaseSync, type StatementSync } from 'node:sqlite'
import * as fc from 'fast-check'
import t from 'tap'
import { type CostPart, type CostQuery, type CostRow, quarterMs } from '../../src/domain/index.ts'
import { costParts } from '../../src/domain/costs.ts'
import { foldCosts } from '../../src/storage/costs/fold.ts'
import { readRated } from '../../src/storage/costs/rated.ts'
import { readCosts } from '../../src/storage/costs/read.ts'
import { CostSums, type Kind, type Place } from '../../src/storage/costs/sums.ts'
import { writeSums } from '../../src/storage/costs/write-sums.ts'
import { migrations } from '../../src/storage/migrations/list.ts'
import type { QueryProgram, Rows } from '../../src/storage/query.ts'
import { whole } from '../../src/storage/rows.ts'
import { beginningOf } from '../../src/util/index.ts'
import { caseName } from '../harness/case-name.ts'

const lengths = [1, 16, 96, 384, 1_536]
const dayMs = 86_400_000
const begun = Date.UTC(2026, 9, 20)
/** Every later span is beyond any charge. */
const never = 1_536 * 10_000
const tables = {
  cost_part_sum: 'part, what, currency',
  cost_place_sum: 'place',
  cost_image_sum: 'place, kind',
  cost_key_sum: 'place, key_id',
  cost_label_part: 'kind, label, currency',
  cost_label_model: 'kind, model, label, currency',
  cost_label_sum: 'place',
}
const kind: Kind = {
  model: 'm0',
  size: null,
  currency: 'USD',
  rule: '{}',
  tier: '4K',
  source: 'request',
  width: 2048,
  height: 1152,
  price: 60_000,
  flags: '[]',
  told: null,
}

class Database {
  readonly db = new DatabaseSync(':memory:')
  readonly #prepared = new Map<string, StatementSync>()

  constructor() {
    for (const statement of migrations.flat()) this.db.exec(statement)
    for (const label of ['eu_0', 'eu_1', 'eu_2']) this.run(insertLabel(label, 'end_user'))
    for (const label of ['tag_0', 'tag_1']) this.run(insertLabel(label, 'tag'))
  }

  run<T>(steps: QueryProgram<T>): T {
    let next = steps.next()
    while (next.done !== true) {
      const { sql, params } = next.value
      let statement = this.#prepared.get(sql)
      if (!statement) this.#prepared.set(sql, (statement = this.db.prepare(sql)))
      next = steps.next(statement.all(...params) as Rows)
    }
    return next.value
  }

  /** Tables that a program reads without an index. */
  scans(steps: QueryProgram<unknown>): readonly string[] {
    const found: string[] = []
    for (let next = steps.next(); next.done !== true; ) {
      const { sql, params } = next.value
      for (const row of this.db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...params))
        if (/^SCAN (?!part\d|names|cost_fold)/.test(String(row['detail'])))
          found.push(`${String(row['detail'])}: ${sql}`)
      next = steps.next(this.db.prepare(sql).all(...params) as Rows)
    }
    return found
  }

  /** Like a process that is killed before its commit. */
  runInVain(steps: QueryProgram<unknown>): void {
    this.db.exec('BEGIN')
    this.run(steps)
    this.db.exec('ROLLBACK')
  }

  /** A column of `cost_fold`. */
  end(column: 'folded' | 'target'): number {
    return whole(this.db.prepare(`SELECT ${column} AS at FROM cost_fold WHERE pass = 0`).get() as Rows[number], 'at')
  }

  /** The sums in spans that are over at a quarter. */
  dump(end: number): unknown {
    const isOver = lengths.map((length, i) => `span % 8 = ${i} AND (span / 8 + 1) * ${length} <= ${i ? end : never}`)
    return Object.entries(tables).map(([table, key]) =>
      this.db.prepare(`SELECT * FROM ${table} WHERE ${isOver.join(' OR ')} ORDER BY ${key}, span`).all(),
    )
  }
}

function* insertLabel(id: string, of: string): QueryProgram<void> {
  yield {
    sql: 'INSERT INTO label (id, kind, name, created_at, seen_at) VALUES (?, ?, ?, 0, 0)',
    params: [id, of, `name of ${id}`],
  }
}

type Charge = { readonly place: Place; readonly amount: number; readonly isRefund: boolean }

/** A charge in a quarter before a time, or a refund. */
const charge = fc.record({
  quarter: fc.oneof(fc.nat(8), fc.nat(40), fc.nat(1_000)),
  key: fc.nat(4),
  model: fc.nat(2),
  tier: fc.constantFrom('4K', 'input', 'output'),
  currency: fc.constantFrom('USD', 'USD', 'EUR'),
  attribution: fc.constantFrom('', '', 'eu_0', 'eu_1 tag_0', 'eu_2 tag_0 tag_1'),
  amount: fc.integer({ min: 0, max: 900 }),
  isRefund: fc.boolean(),
  /** In the quarters after the end of the long spans, which may be under way. */
  isNear: fc.boolean(),
})
const step = fc.oneof(
  { weight: 3, arbitrary: fc.array(charge, { minLength: 1, maxLength: 8 }).map(some => ({ add: some })) },
  {
    weight: 4,
    arbitrary: fc.record({
      fold: fc.integer({ min: 1, max: 40 }),
      times: fc.constantFrom(1, 4, 30, 300),
      isKilled: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ wait: fc.constantFrom(1, 7, 30, 96, 700) }) },
)

function sumsOf(charges: readonly Charge[]): CostSums {
  const sums = new CostSums()
  for (const { place, amount, isRefund } of charges) {
    const counts = isRefund ? 0 : 1
    const [charged, refunded] = isRefund ? [0, amount] : [amount, 0]
    const isImage = place.tier === '4K'
    const of = { charges: counts, firsts: counts, amount: charged, refunded, saved: 0 }
    sums.add(place, { ...of, images: isImage ? counts : 0, quantity: isImage ? 0 : amount, tokens: amount })
    if (isImage) sums.addImage(place, kind, isRefund ? -1 : 1)
  }
  return sums
}

/** Some questions in several time zones, by every part and label. */
function* questionsAt(now: number, turn: number): Generator<CostQuery> {
  const parts: readonly CostQuery['by'][] = [null, ...costParts, 'end_user', 'tag']
  for (const [i, zone] of ['UTC', 'Asia/Kathmandu', 'America/New_York'].entries())
    for (const [j, by] of parts.entries()) {
      if ((i + j + turn) % 5 !== 0) continue
      const first = Math.floor(now / dayMs) * dayMs - ((i + j) % 12) * dayMs
      const bars: number[] = []
      for (let day = first; day <= now + dayMs; day += dayMs) bars.push(beginningOf(zone, day))
      const until = beginningOf(zone, now + 3 * dayMs)
      yield { since: bars[0] as number, until, bars, by, where: j % 2 ? { model: 'm1' } : {}, apart: 2 }
    }
}

/** Rows with equal amounts have no order. */
function inOrder(rows: readonly CostRow[]): string {
  return JSON.stringify(rows.map(row => JSON.stringify(row)).sort())
}

/** The total by plain addition. */
function totalOf(charges: readonly Charge[], since: number, until: number, by: CostPart, what: string): number {
  const column = { user: 'user_name', key: 'key_id', model: 'model' }[by as 'user' | 'key' | 'model'] as keyof Place
  return charges
    .filter(
      ({ place, isRefund }) =>
        !isRefund && place.quarter * quarterMs >= since && place.quarter * quarterMs < until && place[column] === what,
    )
    .reduce((sum, { amount }) => sum + amount, 0)
}

t.test('sums of long spans equal the charges before, during and after each step that writes them', t => {
  let folds = 0
  let lates = 0
  fc.assert(
    fc.property(fc.array(step, { minLength: 20, maxLength: 60 }), steps => {
      const [own, atOnce] = [new Database(), new Database()]
      atOnce.db.exec(`UPDATE cost_fold SET folded = ${never}, target = ${never}`)
      let now = begun + 2_000 * quarterMs
      const charges: Charge[] = []
      for (const [turn, one] of steps.entries()) {
        if ('wait' in one) now += one.wait * quarterMs
        else if ('fold' in one) {
          const limits = { names: 1 + (one.fold % 3), places: one.fold }
          const before = own.end('folded')
          for (let i = 0, isMore = true; isMore && i < one.times; i++) isMore = own.run(foldCosts(now, limits))
          if (own.end('folded') > before) folds++
          if (one.isKilled) own.runInVain(foldCosts(now, limits))
        } else {
          const some = one.add.map(
            ({ quarter, key, model, tier, currency, attribution, amount, isRefund, isNear }): Charge => {
              const user_name = `user ${key % 2}`
              const facts = { group_name: 'default', operation: 'chat', upstream: 'alpha', tier, currency, attribution }
              const last = Math.floor(now / quarterMs)
              const at = isNear ? Math.min(last, own.end('folded') + (quarter % 16)) : last - quarter
              return {
                place: { quarter: at, key_id: `key ${key}`, user_name, model: `m${model}`, ...facts },
                amount,
                isRefund,
              }
            },
          )
          const target = own.end('target')
          lates += some.filter(({ place }) => place.quarter < target && place.quarter >= own.end('folded')).length
          charges.push(...some)
          own.run(writeSums(sumsOf(some), { number: 0, folded: target }))
          atOnce.run(writeSums(sumsOf(some), { number: 0, folded: never }))
        }
        const folded = own.end('folded')
        if (JSON.stringify(own.dump(folded)) !== JSON.stringify(atOnce.dump(folded))) throw new Error('rows differ')
        for (const query of questionsAt(now, turn)) {
          const [mine, theirs] = [own.run(readCosts(query)), atOnce.run(readCosts(query))]
          if (inOrder(mine.rows) !== inOrder(theirs.rows)) throw new Error(`${JSON.stringify(query)} differs`)
          if (query.by !== 'user' && query.by !== 'key' && query.by !== 'model') continue
          const where = query.where.model
          for (const row of query.apart && where === undefined ? mine.rows : []) {
            if (row.what === null) continue
            const until = query.bars[row.bar + 1] ?? query.until
            const currencies = charges.filter(({ place }) => place.currency === row.currency)
            const total = totalOf(currencies, query.bars[row.bar] as number, until, query.by, row.what)
            if (total !== row.amount) throw new Error(`${row.amount} instead of ${total}`)
          }
        }
        const all = { since: begun - 3_000 * quarterMs, until: now + dayMs, where: {} }
        if (JSON.stringify(own.run(readRated(all))) !== JSON.stringify(atOnce.run(readRated(all))))
          throw new Error('images differ')
      }
    }),
    { numRuns: Number(process.env['RUNS'] ?? 12), seed: 7, endOnFailure: true },
  )
  t.ok(folds > 40, `${folds} ends`)
  t.ok(lates > 40, `${lates} charges came late`)
  t.end()
})

t.test('no step that writes long spans looks through a table', t => {
  const database = new Database()
  const charges: Charge[] = []
  for (let i = 0; i < 40; i++) {
    const facts = { group_name: 'default', operation: 'chat', upstream: 'alpha', tier: i % 2 ? '4K' : 'input' }
    const own = { quarter: begun / quarterMs + i, key_id: `key ${i}`, user_name: 'ada', model: `m${i % 3}` }
    const place = { ...facts, ...own, currency: 'USD', attribution: 'eu_1 tag_0' }
    charges.push({ place, amount: 7, isRefund: false })
  }
  database.run(writeSums(sumsOf(charges), { number: 0, folded: 0 }))
  for (const isAnalyzed of [false, true]) {
    if (isAnalyzed) database.db.exec('ANALYZE')
    const before = database.end('folded')
    t.same(database.scans(foldCosts(begun + 20 * dayMs)), [], caseName({ isAnalyzed }))
    t.ok(database.end('folded') > before, caseName({ isAnalyzed, before }))
  }
  t.end()
})
