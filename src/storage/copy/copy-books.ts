import type { Clock } from '../../util/index.ts'
import { StorageError } from '../errors.ts'
import { readAnchor } from '../ledger/anchor.ts'
import { audit } from '../ledger/audit.ts'
import { ask, type QueryProgram } from '../query.ts'
import { text, whole } from '../rows.ts'
import type { Copied, CopiedTable, CopySource, CopyTarget, TableLayout } from './source-and-target.ts'
import { sumBooks } from './sum-books.ts'
import { quote, TableWalk } from './table-walk.ts'

export type CopyOptions = {
  readonly tables: readonly TableLayout[]
  readonly clock: Pick<Clock, 'now'>
  /** Whether it may miss changes that are written during the copy. */
  readonly isSnapshot: boolean
  readonly onProgress: (text: string) => void
}

/**
 * Copies every row and verifies the copy before it is kept: each table has as many rows with the same digest, the books
 * are valid, also against the anchor of the source, and their sums are the same. A rejected copy is removed.
 * @throws StorageError `copy_unsound`, `copy_outdated`
 */
export async function copyBooks(source: CopySource, target: CopyTarget, options: CopyOptions): Promise<Copied> {
  const { tables, clock, onProgress, isSnapshot } = options
  const before = await source.run(readTraces())
  const whole = await source.run(countAll(tables))
  let done = 0
  let textsChanged = 0
  const copied: CopiedTable[] = []
  for (const table of tables) {
    const walk = new TableWalk(table, target.holdsNul)
    for (;;) {
      const rows = await source.run(walk.next())
      if (rows.length === 0) break
      await target.put(table, rows)
      onProgress(`${count(done + walk.rows)} of ${count(whole)} rows copied (${table.name})`)
    }
    done += walk.rows
    textsChanged += walk.changed
    copied.push({ table: table.name, rows: walk.rows, digest: walk.digest() })
  }
  await target.numberFrom(await source.lastNumbers())
  await target.seal()
  const refuse = (reason: string): StorageError => new StorageError('copy_unsound', { reason })
  if (done !== whole) throw refuse(`there are ${count(whole)} rows, and ${count(done)} were copied`)
  await compareTables(target, tables, copied, options, refuse)

  onProgress('verifying the ledger of the copy')
  const at = clock.now()
  const anchor = await source.run(readAnchor(at))
  const found = await target.run(audit({ at, zone: undefined, anchors: [anchor] }))
  if (found.problems.length > 0)
    throw refuse(
      `the ledger of the copy does not hold, see what \`tollgate ledger verify\` says of ${source.place}: ${found.problems.slice(0, 3).join('; ')}`,
    )
  onProgress('comparing the sums')
  const [sums, theirs] = [await source.run(sumBooks()), await target.run(sumBooks())]
  if (JSON.stringify(sums) !== JSON.stringify(theirs))
    throw refuse(`the sums differ: ${JSON.stringify(sums)} became ${JSON.stringify(theirs)}`)
  if (!isSnapshot && (await source.runNow(readTraces())) !== before)
    throw new StorageError('copy_outdated', { path: source.place })
  onProgress('keeping the copy')
  await target.keep()
  const { place: from } = source
  return { from, to: target.place, tables: copied, rows: done, textsChanged, audit: found, anchor, sums }
}

/** Reads the whole copy again. @throws StorageError `copy_unsound` */
async function compareTables(
  target: CopyTarget,
  tables: readonly TableLayout[],
  copied: readonly CopiedTable[],
  { onProgress }: Pick<CopyOptions, 'onProgress'>,
  refuse: (reason: string) => StorageError,
): Promise<void> {
  const whole = copied.reduce((sum, { rows }) => sum + rows, 0)
  let done = 0
  for (const [i, table] of tables.entries()) {
    const walk = new TableWalk(table, target.holdsNul)
    while ((await target.run(walk.next())).length > 0)
      onProgress(`${count(done + walk.rows)} of ${count(whole)} rows compared (${table.name})`)
    const wanted = copied[i]
    if (walk.rows !== wanted?.rows)
      throw refuse(`${table.name}: ${wanted?.rows} rows were copied, ${walk.rows} are there`)
    if (walk.digest() !== wanted.digest) throw refuse(`${table.name}: its rows are not those that were copied`)
    done += walk.rows
  }
}

function* countAll(tables: readonly TableLayout[]): QueryProgram<number> {
  let sum = 0
  for (const { name } of tables) {
    const [row] = yield ask(`SELECT count(*) AS rows FROM ${quote(name)}`)
    sum += row ? whole(row, 'rows') : 0
  }
  return sum
}

/** Values that change whenever keys, users, charges or gateways change. */
function* readTraces(): QueryProgram<string> {
  const meta = yield ask('SELECT name, value FROM meta ORDER BY name')
  const chains = yield ask('SELECT id, position FROM chain ORDER BY id')
  const [trail] = yield ask('SELECT max(id) AS id FROM trail')
  const [charge] = yield ask('SELECT max(id) AS id, count(*) AS count FROM charge')
  const numbers = meta.map(row => [text(row, 'name'), whole(row, 'value')])
  const ends = chains.map(row => [text(row, 'id'), whole(row, 'position')])
  return JSON.stringify([numbers, ends, trail?.['id'], charge?.['id'], Number(charge?.['count'])])
}

function count(rows: number): string {
  return rows.toLocaleString('en')
}
