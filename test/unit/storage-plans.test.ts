import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import type { LogFilter } from '../../src/kit/index.ts'
import { listLogs } from '../../src/storage/journal/list.ts'
import { sumOpen } from '../../src/storage/ledger/sum-open.ts'
import { findKeyByHash } from '../../src/storage/keys/find.ts'
import { listKeys } from '../../src/storage/keys/list.ts'
import { migrations } from '../../src/storage/migrations/list.ts'
import { findBooked } from '../../src/storage/segments/find.ts'
import { SegmentWalk } from '../../src/storage/segments/walk.ts'
import { openKysely } from '../../src/storage/sqlite/kysely.ts'
import type { QueryProgram, Rows } from '../../src/storage/query.ts'
import type { Tables } from '../../src/storage/tables.ts'
import { caseName } from '../harness/case-name.ts'

const db = new DatabaseSync(':memory:')
for (const statement of migrations.flat()) db.exec(statement)
const prepare = db.prepare.bind(db)
let asked = ''
db.prepare = sql => {
  asked = sql
  return prepare(sql)
}
const lists = openKysely<Tables>(db)
t.teardown(() => lists.destroy())

/** Runs steps on the same database. */
function run<T>(steps: QueryProgram<T>): T {
  let next = steps.next()
  while (next.done !== true) next = steps.next(prepare(next.value.sql).all(...next.value.params) as Rows)
  return next.value
}

/** How SQLite goes about the statement that was asked last. */
function planOf(sql: string): string {
  const parameters = Array<number>(sql.split('?').length - 1).fill(1)
  return prepare(`EXPLAIN QUERY PLAN ${sql}`)
    .all(...parameters)
    .map(row => String(row['detail']))
    .join(' | ')
}

const indexed: readonly (readonly [string, Partial<LogFilter>, RegExp])[] = [
  ['id', { id: 'x' }, /^SEARCH log USING PRIMARY KEY \(id=\?\)/],
  ['key', { keyId: 'x' }, /^SEARCH log USING INDEX log_key/],
  ['user', { user: 'x' }, /^SEARCH log USING INDEX log_user/],
  ['model', { model: 'x' }, /^SEARCH log USING INDEX log_model/],
  ['status', { status: 429 }, /^SEARCH log USING INDEX log_failed/],
  ['class of status', { status: '5xx' }, /^SEARCH log USING INDEX log_failed/],
  ['outcome', { outcome: 'deadline' }, /^SEARCH log USING INDEX log_cut/],
  ['tier', { tier: '4K' }, /^SEARCH line USING INDEX line_tier/],
  ['source', { source: 'default' }, /^SEARCH line USING INDEX line_source/],
  ['another size', { otherSize: true }, /^SCAN charge USING INDEX charge_sized/],
  ['charges in review', { charge: 'needs_review' }, /^SEARCH charge USING COVERING INDEX charge_unsettled/],
  ['void charges', { charge: 'voided' }, /^SEARCH charge USING COVERING INDEX charge_unsettled/],
  ['time', { since: 1, until: 2 }, /^SEARCH log USING PRIMARY KEY/],
  ['a row before', { before: 'x' }, /^SEARCH log USING PRIMARY KEY/],
  ['a row after', { after: 'x' }, /^SEARCH log USING PRIMARY KEY/],
  [
    'a tier in a time',
    { tier: '4K', since: 1, until: 2 },
    /^SEARCH line USING INDEX line_tier \(tier=\? AND charge_id>\?/,
  ],
]

for (const [name, filter, wanted] of indexed)
  t.test(`a page of the log by ${name} walks an index in order and stops`, async t => {
    await listLogs(lists, run, { limit: 20, ...filter })
    const plan = planOf(asked)
    t.match(plan, wanted)
    t.notMatch(plan, /SCAN log|TEMP B-TREE/, 'no scan of the log, and nothing is sorted')
  })

t.test('a page of the log by what most rows are walks it from its newest row', async t => {
  for (const filter of [{}, { charge: 'settled' }, { status: 200 }, { outcome: 'answered' }, { group: 'x' }] as const) {
    await listLogs(lists, run, { limit: 20, ...filter })
    t.equal(planOf(asked), 'SCAN log', caseName({ filter }))
  }
})

t.test('a charge in a segment is looked for in an index alone, and so is what overlaps it', async t => {
  const found = findBooked(['req_01kabcdefg0000000000']).next()
  t.match(
    found.done ? '' : planOf(found.value.sql),
    /^SEARCH segment USING INDEX segment_ids \(last_id>\? AND last_id<\?\)$/,
  )
  const walk = new SegmentWalk('').next()
  const page = walk.next()
  t.match(
    page.done ? '' : planOf(page.value.sql),
    /^SEARCH segment USING INDEX segment_ids \(last_id>\? AND last_id<\?\)$/,
  )
  const full = Array.from({ length: 8 }, (_, i) => bodyOf(`req_01kabcdefg00000000${i}0`))
  const behind = walk.next(full)
  t.match(behind.done ? '' : planOf(behind.value.sql), /^SEARCH segment USING COVERING INDEX segment_ids /)
})

function bodyOf(id: string) {
  const payer = { key_id: 'k', user_name: 'u', group_name: 'g' }
  const body = JSON.stringify([{ at: 1 }, payer, { lines: [['input', 'output', []]] }, [id, 1, 2, 0, 5, 5]])
  return { chain: 'gateway', position: 1, last_id: id, body }
}

t.test('a page of keys walks them in order, however many there are', async t => {
  for (const filter of [{}, { user: 'x' }, { before: 'x' }]) {
    await listKeys(lists, { limit: 20, ...filter })
    t.notMatch(planOf(asked), /TEMP B-TREE/, caseName({ filter }))
  }
})

t.test('what is open is found by an index, however much has ended', async t => {
  const step = sumOpen().next()
  t.match(step.done ? '' : planOf(step.value.sql), /^SEARCH charge USING INDEX charge_unsettled \(state=\?\)/)
})

t.test('a secret is looked up by an index, the present one and the one before', async t => {
  const steps = findKeyByHash('x')
  const present = steps.next()
  const before = steps.next([])
  const user = 'SEARCH u USING INDEX sqlite_autoindex_user_1 (name=?)'
  for (const [step, index] of [
    [present, 'sqlite_autoindex_key_2 (hash=?)'],
    [before, 'key_old_hash (old_hash=?)'],
  ] as const)
    t.equal(
      step.done ? '' : planOf(step.value.sql),
      `SEARCH k USING INDEX ${index} | ${user}`,
      caseName({ step, index }),
    )
})
