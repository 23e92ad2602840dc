import { DatabaseSync, type StatementSync } from 'node:sqlite'
import t from 'tap'
import { type CostPart, type CostQuery, quarterMs } from '../../src/domain/index.ts'
import { beginningOf } from '../../src/util/index.ts'
import { foldCosts } from '../../src/storage/costs/fold.ts'
import { readRated } from '../../src/storage/costs/rated.ts'
import { readCosts } from '../../src/storage/costs/read.ts'
import { CostSums, type Kind } from '../../src/storage/costs/sums.ts'
import { writeSums } from '../../src/storage/costs/write-sums.ts'
import { migrations } from '../../src/storage/migrations/list.ts'
import type { QueryProgram, Rows } from '../../src/storage/query.ts'
import { caseName } from '../harness/case-name.ts'

// Counts what the first page of costs reads when there are twice as many charges, as rows that SQLite has visited: the
// count does not depend on other work on the machine.

const dayMs = 86_400_000
const [days, users, models] = [34, 4, 3]
const begun = Date.UTC(2026, 8, 20)
/** The maximum number of spans that cover 30 whole days. */
const spansOfDays = 9
const kind: Kind = {
  model: 'm0',
  size: '3840x2160',
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

/** Charges by each key on each day, at any time of day, half of them images. */
function* fill(chargesADay: number, keys: number): QueryProgram<void> {
  let state = 5
  const draw = (n: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * n)
  }
  for (let day = 0; day < days; day++) {
    const sums = new CostSums()
    for (let n = 0; n < keys * chargesADay; n++) {
      const key = n % keys
      const place = {
        quarter: begun / quarterMs + day * 96 + draw(96),
        key_id: `key ${key}`,
        user_name: `user ${key % users}`,
        group_name: 'default',
        model: `m${Math.floor(n / keys) % models}`,
        operation: n % 2 ? 'image' : 'chat',
        upstream: 'alpha',
        tier: n % 2 ? '4K' : 'input',
        currency: 'USD',
        attribution: '',
      }
      sums.add(place, {
        charges: 1,
        firsts: 1,
        images: n % 2,
        amount: 1 + draw(1_000),
        refunded: 0,
        quantity: n,
        tokens: n,
        saved: 0,
      })
      if (n % 2) sums.addImage(place, kind, 1)
    }
    yield* writeSums(sums, { number: 0, folded: 0 })
  }
}

class Counted {
  readonly #db = new DatabaseSync(':memory:')
  rows = 0
  statements = 0
  isExplained = false
  readonly #prepared = new Map<string, StatementSync>()
  readonly plans = new Set<string>()

  constructor(chargesADay: number, keys = 16) {
    for (const statement of migrations.flat()) this.#db.exec(statement)
    // Called for each row that an index has found.
    this.#db.function('looked_at', span => {
      this.rows += span === null ? 0 : 1
      return 1
    })
    this.#db.exec('BEGIN')
    this.run(fill(chargesADay, keys))
    while (this.run(foldCosts(begun + (days + 1) * dayMs)));
    this.#db.exec('COMMIT')
    this.statements = 0
  }

  run<T>(steps: QueryProgram<T>): T {
    let next = steps.next()
    while (next.done !== true) {
      const { sql, params } = next.value
      const counting = sql.replace(/AND ((?:s\.)?span) IN/g, 'AND looked_at($1) = 1 AND $1 IN')
      this.statements++
      let statement = this.#prepared.get(counting)
      if (!statement) this.#prepared.set(counting, (statement = this.#db.prepare(counting)))
      if (this.isExplained && sql.startsWith('SELECT'))
        for (const row of this.#db.prepare(`EXPLAIN QUERY PLAN ${counting}`).all(...params))
          this.plans.add(String(row['detail']))
      next = steps.next(statement.all(...params) as Rows)
    }
    return next.value
  }

  /** The number of rows that a query has visited, and the number of statements. */
  cost(steps: QueryProgram<unknown>): { readonly rows: number; readonly statements: number } {
    const [rows, statements] = [this.rows, this.statements]
    this.run(steps)
    return { rows: this.rows - rows, statements: this.statements - statements }
  }
}

function daysOf(zone: string): Pick<CostQuery, 'since' | 'until' | 'bars'> {
  const bars = Array.from({ length: 30 }, (_, day) => beginningOf(zone, begun + (day + 3) * dayMs))
  return { since: bars[0] as number, until: beginningOf(zone, begun + 33 * dayMs), bars }
}

const questions: readonly (readonly [by: CostPart | null, where: CostQuery['where']])[] = [
  [null, {}],
  ['key', {}],
  ['user', {}],
  ['model', {}],
  ['tier', {}],
  [null, { user: 'user 3' }],
  ['key', { user: 'user 3' }],
  ['tier', { user: 'user 3' }],
  ['user', { model: 'm2' }],
]

t.test('[9.7] the first page of costs reads as much with twice as many charges', async t => {
  const [few, many] = [new Counted(12), new Counted(24)]
  many.isExplained = true
  for (const zone of ['UTC', 'Asia/Shanghai', 'Asia/Kathmandu'])
    for (const [by, where] of questions) {
      const query = { ...daysOf(zone), by, where, apart: 20 }
      const [a, b] = [few.cost(readCosts(query)), many.cost(readCosts(query))]
      const name = caseName({ zone, by, where, few: a, many: b })
      // With spans of a quarter hour or of 4 hours, more keys have charges in them.
      t.ok(a.rows > 0 && b.rows <= a.rows * (zone === 'UTC' ? 1.02 : 1.6), name)
      t.ok(b.statements === a.statements && b.statements <= 12, name)
    }
  const whole = daysOf('UTC')
  const [a, b] = [few.cost(readRated({ ...whole, where: {} })), many.cost(readRated({ ...whole, where: {} }))]
  t.ok(a.rows > 0 && b.rows <= a.rows * 1.02, caseName({ few: a, many: b }))
  const scanned = [...many.plans].filter(plan => /^SCAN (?:s|p|cost_\w+)\b/.test(plan))
  t.same(scanned, [], 'nothing is looked through')
})

/** Filters on very many keys: by fields that the sums by key distinguish, and by fields that they do not. */
const narrowed: readonly CostQuery['where'][] = [
  { model: 'm2' },
  { operation: 'chat' },
  { upstream: 'alpha' },
  { tier: 'input' },
  { model: 'm2', tier: '4K' },
  { user: 'user 3' },
  { user: 'user 3', tier: '4K' },
]

t.test('[9.7] the most expensive of very many keys take as many reads under any filter', async t => {
  const many = 150
  const [few, twice] = [new Counted(4, many), new Counted(8, many)]
  twice.isExplained = true
  for (const where of narrowed) {
    const query = { ...daysOf('UTC'), by: 'key' as const, where, apart: 20 }
    const [a, b] = [few.cost(readCosts(query)), twice.cost(readCosts(query))]
    const name = caseName({ where, few: a, twice: b })
    // For the 30 days one row of each key for each span, and some rows of candidates for the highest costs.
    t.ok(a.rows > 0 && b.rows <= a.rows * 1.1, name)
    t.ok(b.rows <= spansOfDays * many * 2, name)
    t.ok(b.statements <= 20, name)
  }
  const scanned = [...twice.plans].filter(plan => /^SCAN (?:s|p|cost_\w+)\b/.test(plan))
  t.same(scanned, [], 'nothing is looked through')
})
