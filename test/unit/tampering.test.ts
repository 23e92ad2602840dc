import { closeSync, copyFileSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import t from 'tap'
import { digestCharge, hashEntry, toEntry } from '../../src/storage/ledger/entries.ts'
import type { Row, Rows } from '../../src/storage/query.ts'
import { text, whole } from '../../src/storage/rows.ts'
import { caseName } from '../harness/case-name.ts'
import { clockAt } from '../contract/storage.ts'
import { openDatabase } from '../harness/database.ts'
import { dropTriggers } from '../harness/drop-triggers.ts'
import { makeBooks } from '../harness/random-books.ts'
import { seed } from '../harness/seed.ts'

// Verification finds a changed value in any column that an amount depends on. A new column is found, or listed here.

/** Columns that may change without a finding, by table. */
const free: { readonly [table: string]: readonly string[] } = {
  // The process and the time limits of open charges; idempotency; and whether the client has got the answer, which is
  // confirmed after the end of the charge.
  charge: 'owner epoch lease_until kept levels delivery idem_key idem_fingerprint idem_until'.split(' '),
  line: [],
  // The row of an entry within its database.
  entry: ['nth'],
  segment: ['owner', 'epoch'],
  reversal: [],
  topup: [],
  // Which process books on the row, and the events that were sent.
  account: ['part', 'budget_told'],
}

/** Columns of a key with its spending: the others are settings. */
const ofKeys = ['id', 'spent', 'held', 'day_start', 'day_spent', 'month_start', 'month_spent']

type Column = { readonly name: string; readonly type: string; readonly pk: number }

const folder = t.testdir()
const path = join(folder, 'tollgate.db')
const clock = clockAt(Date.UTC(2026, 9, 30, 12))

const source = await openDatabase({ url: `sqlite:${path}`, clock })
await makeBooks(source, clock, { seed, count: 80, stepMs: 60_000 })
await source.users.topUp('ada', 90_000_000, 'a transfer', 'boss')
await source.keys.adopt({ users: [], groups: [{ name: 'partner', per: 'day', spentBefore: 3_000_000 }] }, 'import')
const images = (await source.books.all(null, 500)).filter(
  ({ amount, refunded, lines }) => amount > refunded && lines.some(({ width }) => width !== null),
)
t.ok((await source.books.refund(images[0]?.id ?? '', 'boss', 'the last entry of its chain')) > 0)
await source.flush()
t.same((await source.books.verify()).problems, [])
await source.close()

const read = new DatabaseSync(path, { readOnly: true })
t.teardown(() => read.close())
const columnsOf = (table: string): readonly Column[] =>
  read.prepare(`PRAGMA table_info("${table}")`).all() as unknown as Column[]

/** The problems of a copy in which one value is changed without the triggers. */
function problemsOf(sql: string, params: readonly SQLInputValue[]): Promise<readonly string[]> {
  return problemsAfter(db => void db.prepare(sql).run(...params))
}

async function problemsAfter(change: (db: DatabaseSync) => void): Promise<readonly string[]> {
  const copy = join(folder, 'copy.db')
  for (const suffix of ['', '-wal', '-shm', '.lock']) rmSync(copy + suffix, { force: true })
  copyFileSync(path, copy)
  const db = new DatabaseSync(copy, { enableForeignKeyConstraints: false })
  dropTriggers(db)
  // A check or an index may refuse the value.
  db.exec('PRAGMA ignore_check_constraints = ON')
  try {
    change(db)
  } catch {
    return ['refused by the database']
  } finally {
    db.close()
  }
  const storage = await openDatabase({ url: `sqlite:${copy}`, clock, role: 'tool' })
  try {
    return (await storage.books.verify()).problems
  } catch (error) {
    return [String(error)]
  } finally {
    await storage.close()
  }
}

/** Another value of the same type. A start moves by whole days. */
function changed({ name, type }: Column, was: SQLInputValue): SQLInputValue {
  if (was === null) return type === 'INTEGER' ? 1 : 'x'
  if (typeof was === 'string') return `${was}x`
  return Number(was) + (name.endsWith('_start') ? -86_400_000 : 1)
}

/** Changes each column, or deletes the row, in the first and the last row of a table. */
async function unfound(table: string, columns: readonly Column[], deletes: boolean): Promise<readonly string[]> {
  const missed: string[] = []
  const own = columnsOf(table).filter(({ pk }) => pk > 0)
  const names = own.length > 0 ? own.map(({ name }) => name) : ['rowid']
  const where = names.map(name => `"${name}" IS ?`).join(' AND ')
  const found = read.prepare(`SELECT ${own.length > 0 ? '' : 'rowid, '}* FROM "${table}"`).all()
  // The facts of a charge are hashed once they cost something.
  const charged = found.filter(row => row['state'] === undefined || row['state'] === 'settled')
  t.ok(charged.length > 0, caseName({ table }))
  for (const row of new Set([charged[0], charged.at(-1)])) {
    const at = names.map(name => row?.[name] as SQLInputValue)
    for (const column of columns) {
      const now = changed(column, row?.[column.name] as SQLInputValue)
      const problems = await problemsOf(`UPDATE "${table}" SET "${column.name}" = ? WHERE ${where}`, [now, ...at])
      if (problems.length === 0) missed.push(column.name)
    }
    if (deletes && (await problemsOf(`DELETE FROM "${table}" WHERE ${where}`, at)).length === 0)
      missed.push('(deleted)')
  }
  return [...new Set(missed)]
}

for (const [table, names] of Object.entries(free))
  t.test(`verification finds every changed value of ${table}`, async t => {
    const columns = columnsOf(table)
    t.strictSame(
      names.filter(name => !columns.some(column => column.name === name)),
      [],
      'each listed column exists',
    )
    const bound = columns.filter(({ name }) => !names.includes(name))
    t.strictSame(await unfound(table, bound, true), [])
  })

t.test('verification finds every changed value of what a key has spent', async t => {
  const columns = columnsOf('key').filter(({ name }) => ofKeys.includes(name))
  t.equal(columns.length, ofKeys.length)
  t.strictSame(await unfound('key', columns, true), [])
})

t.test('verification accepts the digests of earlier versions, which did not cover the cost at the vendor', async t => {
  const problems = await problemsAfter(db => {
    const [entry] = db
      .prepare('SELECT entry.* FROM entry JOIN chain ON id = chain AND chain.position = entry.position')
      .all() as Rows
    if (!entry) throw new Error('a chain ends without an entry')
    const [charge] = db.prepare('SELECT * FROM charge WHERE id = ?').all(entry['charge_id'] ?? null) as Rows
    const lines = db.prepare('SELECT * FROM line WHERE charge_id = ? ORDER BY idx').all(entry['charge_id'] ?? null)
    const { vendor_cost: _cost, ...facts } = charge as Row
    const digest = digestCharge(facts, lines as Rows)
    t.not(digest, entry['digest'])
    const at = [text(entry, 'chain'), whole(entry, 'position')] as const
    const hash = hashEntry(...at, text(entry, 'prev_hash'), { ...toEntry(entry), digest })
    db.prepare('UPDATE entry SET digest = ?, hash = ? WHERE chain = ? AND position = ?').run(digest, hash, ...at)
    db.prepare('UPDATE chain SET head = ? WHERE id = ?').run(hash, at[0])
  })
  t.strictSame(problems, [])
})

t.test('verification of a damaged database names the file and the remedy', async t => {
  const copy = join(folder, 'damaged.db')
  copyFileSync(path, copy)
  const [root] = read.prepare("SELECT rootpage FROM sqlite_master WHERE name = 'charge'").all() as Rows
  const [size] = read.prepare('PRAGMA page_size').all() as Rows
  const bytes = whole(size as Row, 'page_size')
  const file = openSync(copy, 'r+')
  writeSync(file, Buffer.alloc(bytes, 'A'), 0, bytes, (whole(root as Row, 'rootpage') - 1) * bytes)
  closeSync(file)
  const storage = await openDatabase({ url: `sqlite:${copy}`, clock, role: 'tool' })
  await t.rejects(async () => void (await storage.books.verify()), {
    message: /damaged\.db: the database is damaged; put a backup in its place \(tollgate restore\)/,
  })
  await storage.close()
})
