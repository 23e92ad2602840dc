import { ask, type QueryProgram, type Row, type Rows } from '../query.ts'
import { text, whole } from '../rows.ts'
import { ChargeBatchPage } from '../charge-batches/batch-page.ts'
import { hashChargeBatch } from '../charge-batches/write.ts'
import type { Findings } from './findings.ts'
import { chainTables } from './chain.ts'
import { hashEntry, toEntry } from './entries.ts'

/** The maximum number of rows in one statement. */
const together = 1_000

type Table = (typeof chainTables)[number]
/** A position of a chain. */
type Link = { readonly table: Table; readonly row: Row }

/**
 * Verifies that every chain has all positions from the first to the last, and that each position has the hash of its
 * content.
 */
export function* auditChains(findings: Findings): QueryProgram<void> {
  for (const end of yield* findEnds()) {
    const chain = text(end, 'id')
    const links = new Links(chain)
    let position = 0
    let head = ''
    for (;;) {
      const link = yield* links.next()
      if (!link) break
      const { row, table } = link
      if (table !== 'segment') findings.entries++
      const at = whole(row, 'position')
      if (at !== position + 1) findings.report(`entries of ${chain}: ${position + 1} to ${at - 1} are missing`)
      if (text(row, 'prev_hash') !== head) findings.report(`entries of ${chain}: ${at} does not follow the one before`)
      if (hashOf(chain, link) !== text(row, 'hash'))
        findings.report(`entries of ${chain}: ${at} has been changed${nameCharges(link)}`)
      position = at
      head = text(row, 'hash')
    }
    if (position !== whole(end, 'position') || head !== (end['head'] ?? '')) {
      findings.report(`entries of ${chain}: end at ${position}, ${whole(end, 'position')} were written`)
    }
  }
}

/** Recorded ends, and chains without one. */
function* findEnds(): QueryProgram<Rows> {
  const strays = chainTables.map(
    table => `SELECT chain, 0, NULL FROM ${table} WHERE chain NOT IN (SELECT id FROM chain)`,
  )
  return yield ask(['SELECT id, position, head FROM chain', ...strays].join(' UNION '))
}

function hashOf(chain: string, { table, row }: Link): string {
  const [position, before] = [whole(row, 'position'), text(row, 'prev_hash')]
  if (table === 'segment') return hashChargeBatch(chain, position, before, text(row, 'body'))
  return hashEntry(chain, position, before, toEntry(row))
}

function nameCharges({ table, row }: Link): string {
  return table === 'segment' ? `: it has the charges from ${text(row, 'first_id')} to ${text(row, 'last_id')}` : ''
}

/** Reads the contents of a chain in order, from every table. */
class Links {
  readonly #chain: string
  readonly #read = new Map<Table, Row[]>()
  readonly #through = new Map<Table, number>()
  readonly #over = new Set<Table>()
  readonly #page = new ChargeBatchPage()

  constructor(chain: string) {
    this.#chain = chain
  }

  *next(): QueryProgram<Link | undefined> {
    let first: Link | undefined
    for (const table of chainTables) {
      const row = yield* this.#peek(table)
      if (row && (!first || whole(row, 'position') < whole(first.row, 'position'))) first = { table, row }
    }
    if (first) this.#read.get(first.table)?.pop()
    return first
  }

  *#peek(table: Table): QueryProgram<Row | undefined> {
    const read = this.#read.get(table)?.at(-1)
    if (read || this.#over.has(table)) return read
    const most = table === 'segment' ? this.#page.size : together
    const rows = yield ask(
      `SELECT * FROM ${table} WHERE chain = ? AND position > ? ORDER BY position LIMIT ?`,
      this.#chain,
      this.#through.get(table) ?? -Number.MAX_SAFE_INTEGER,
      most,
    )
    const last = rows.at(-1)
    if (!last || rows.length < most) this.#over.add(table)
    if (last) this.#through.set(table, whole(last, 'position'))
    if (table === 'segment') this.#page.had(rows.reduce((charges, row) => charges + whole(row, 'count'), 0))
    this.#read.set(table, rows.toReversed())
    return rows[0]
  }
}
