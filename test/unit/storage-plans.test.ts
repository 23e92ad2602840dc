import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import type { LogFilter } from '../../src/domain/index.ts'
import { readSums } from '../../src/storage/accounts/read-sums.ts'
import { listLogs } from '../../src/storage/journal/list.ts'
import { sumOpen } from '../../src/storage/ledger/sum-open.ts'
import { findKeyByHash } from '../../src/storage/keys/find.ts'
import { listKeys } from '../../src/storage/keys/list.ts'
import { migrations } from '../../src/storage/migrations/list.ts'
import { findBooked } from '../../src/storage/charge-batches/find.ts'
import { ChargeBatchWalk } from '../../src/storage/charge-batches/walk.ts'
import type { Rows } from '../../src/storage/query.ts'
import { openKysely } from '../../src/storage/sqlite/kysely.ts'
import type { Tables } from '../../src/storage/tables.ts'
import { caseName } from '../harness/case-name.ts'

const db = new DatabaseSync(':memory:')
for (const statement of migrations.flat()) db.exec(statement)
const prepare = db.prepare.bind(db)
let lastSql = ''
db.prepare = sql => {
  lastSql = sql
  return prepare(sql)
}
const lists = openKysely<Tables>(db)
t.teardown(() => lists.destroy())

/** SQLite's query plan for a statement. */
function planOf(sql: string): string {
  const parameters = Array<number>(sql.split('?').length - 1).fill(1)
  return prepare(`EXPLAIN QUERY PLAN ${sql}`)
    .all(...parameters)
    .map(row => String(row['detail']))
    .join(' | ')
}

const byAccount =
  /^SEARCH account USING PRIMARY KEY \(kind=\? AND name=\?\)(?: \| CORRELATED SCALAR SUBQUERY \d+ \| SEARCH s USING .*\([^)]*name=\?[^)]*\))*$/
const byTime = /^SEARCH log_page USING COVERING INDEX log_page_time \(last_ms>\?\)$/
const byWord =
  /SCAN log_page USING INDEX log_page_loose .* SEARCH log_word USING PRIMARY KEY \(word=\?\) \| SEARCH log_page USING INTEGER PRIMARY KEY \(rowid=\?\)$/
const indexed: readonly (readonly [string, Partial<LogFilter>, RegExp])[] = [
  ['nothing', {}, byTime],
  ['id', { id: 'x' }, byTime],
  ['key', { keyId: 'x' }, byWord],
  ['user', { user: 'x' }, byWord],
  ['model', { model: 'x' }, byWord],
  ['status', { status: 429 }, byWord],
  ['class of status', { status: '5xx' }, byWord],
  ['the status that most have', { status: 200 }, byTime],
  ['outcome', { outcome: 'deadline' }, byWord],
  ['the outcome that most have', { outcome: 'answered' }, byTime],
  ['the state that most have', { charge: 'settled' }, byTime],
  ['tier', { tier: '4K' }, /^SEARCH line USING INDEX line_tier/],
  ['source', { source: 'default' }, /^SEARCH line USING INDEX line_source/],
  ['another size', { otherSize: true }, /^SEARCH charge USING INDEX charge_sized/],
  ['charges in review', { charge: 'needs_review' }, /^SEARCH charge USING COVERING INDEX charge_unsettled/],
  ['void charges', { charge: 'voided' }, /^SEARCH charge USING COVERING INDEX charge_unsettled/],
  ['time', { since: 1, until: 2 }, byTime],
  ['a row before', { before: 'x' }, byTime],
  ['a row after', { after: 'x' }, byTime],
  [
    'a tier in a time',
    { tier: '4K', since: 1, until: 2 },
    /^SEARCH line USING INDEX line_tier \(tier=\? AND charge_id>\?/,
  ],
]

for (const [name, filter, wanted] of indexed)
  t.test(`a page of the log by ${name} is found by an index`, async t => {
    const first = listLogs({ limit: 20, ...filter }).next()
    const plan = first.done ? '' : planOf(first.value.sql)
    t.match(plan, wanted)
    t.notMatch(
      plan.replace('SCAN log_page USING INDEX log_page_loose', ''),
      /SCAN|TEMP B-TREE/,
      'nothing else is gone through',
    )
  })

t.test('a charge in a segment, and overlapping segments, are found by an index alone', async t => {
  const found = findBooked(['req_01kabcdefg0000000000']).next()
  t.match(
    found.done ? '' : planOf(found.value.sql),
    /^SEARCH segment USING INDEX segment_ids \(last_id>\? AND last_id<\?\)$/,
  )
  const walk = new ChargeBatchWalk('').next()
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
    t.notMatch(planOf(lastSql), /TEMP B-TREE/, caseName({ filter }))
  }
})

t.test("a key's budgets are read from its accounts, however many there are", async t => {
  const insert = prepare(`INSERT INTO account (kind, name, part) VALUES (?, ?, ?)`)
  for (let i = 0; i < 1_000; i++)
    for (const kind of ['user', 'balance', 'group']) insert.run(kind, `n${i}`, `p${i % 3}`)
  const of = (['user', 'balance', 'user', 'group'] as const).map((kind, i) => ({ kind, name: `n${i}` }))
  const steps = readSums({ at: 1, zone: 'UTC', of })
  let given = 0
  let next = steps.next()
  while (next.done !== true) {
    t.match(planOf(next.value.sql), byAccount, next.value.sql)
    const rows = prepare(next.value.sql).all(...next.value.params)
    given += rows.length
    next = steps.next(rows as Rows)
  }
  t.equal(given, of.length)
  t.equal(next.value.length, of.length)
})

t.test('open charges are found by an index, however many have ended', async t => {
  const step = sumOpen().next()
  t.match(step.done ? '' : planOf(step.value.sql), /^SEARCH charge USING INDEX charge_unsettled \(state=\?\)/)
})

t.test('a secret is looked up by an index, the current one and the previous one', async t => {
  const steps = findKeyByHash('x')
  const present = steps.next()
  const before = steps.next([])
  const user = 'SEARCH u USING INDEX sqlite_autoindex_user_1 (name=?)'
  const days = 'CORRELATED SCALAR SUBQUERY 1 | SEARCH s USING PRIMARY KEY (key_id=? AND period=?)'
  for (const [step, index] of [
    [present, 'sqlite_autoindex_key_2 (hash=?)'],
    [before, 'key_old_hash (old_hash=?)'],
  ] as const)
    t.equal(
      step.done ? '' : planOf(step.value.sql),
      `SEARCH k USING INDEX ${index} | ${user} | ${days}`,
      caseName({ step, index }),
    )
})
