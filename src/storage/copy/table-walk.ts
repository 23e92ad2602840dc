import { createHash, hash } from 'node:crypto'
import { ask, type Query, type QueryProgram, type Row, type Value } from '../query.ts'
import type { CellKind, Cells, TableLayout } from './source-and-target.ts'

/** The approximate size of one statement: a page of the log may have a megabyte, a key has two hundred bytes. */
const bytesTogether = 4_194_304
const rowsMost = 2_000
/** The limit for a table with bodies: the next one may be a thousand times as large as the last. */
const bodiesMost = 16

/** Reads a table in the order of its key, and computes the digest of the rows read. */
export class TableWalk {
  rows = 0
  /** Texts that were changed while reading. */
  changed = 0
  readonly #table: TableLayout
  readonly #holdsNul: boolean
  readonly #digest = createHash('sha256')
  #after: Cells | undefined
  #size = 16
  #isOver = false

  constructor(table: TableLayout, holdsNul: boolean) {
    this.#table = table
    this.#holdsNul = holdsNul
  }

  /** The next rows; none at the end. */
  *next(): QueryProgram<readonly Cells[]> {
    if (this.#isOver) return []
    const found = yield this.#query()
    const rows = found.map(row => this.#cellsOf(row))
    const last = found.at(-1)
    this.#isOver = !last || rows.length < this.#size
    // The key in its stored form: a changed text would sort elsewhere.
    if (last) this.#after = this.#table.key.map(name => last[name] ?? null)
    let bytes = 0
    for (const cells of rows) {
      bytes += cells.reduce<number>((sum, cell) => sum + sizeOf(cell), 0)
      this.#digest.update(`${JSON.stringify(cells.map(toDigest))}\n`)
    }
    this.rows += rows.length
    const each = Math.max(bytes / Math.max(rows.length, 1), 1)
    const hasBodies = this.#table.columns.some(({ name, kind }) => kind === 'bytes' || name === 'body')
    const most = hasBodies ? bodiesMost : rowsMost
    this.#size = Math.min(Math.max(Math.floor(bytesTogether / each), 1), most, this.#size * 4)
    return rows
  }

  /** The digest of all rows read. */
  digest(): string {
    return this.#digest.digest('hex')
  }

  #query(): Query {
    const { name, columns, key } = this.#table
    const names = columns.map(column => quote(column.name)).join(', ')
    const order = key.map(quote).join(', ')
    const after = this.#after ?? []
    const behind = after.length > 0 ? `WHERE (${order}) > (${after.map(() => '?').join(', ')})` : ''
    return ask(`SELECT ${names} FROM ${quote(name)} ${behind} ORDER BY ${order} LIMIT ?`, ...after, this.#size)
  }

  #cellsOf(row: Row): Cells {
    return this.#table.columns.map(({ name, kind }) => {
      const cell = toCell(row[name], kind)
      if (this.#holdsNul || typeof cell !== 'string' || !cell.includes('\0')) return cell
      this.changed++
      return cell.replaceAll('\0', '\uFFFD')
    })
  }
}

/** PostgreSQL returns numbers of 64 bits as text. */
function toCell(value: Value | undefined, kind: CellKind): Value {
  if (value === null || value === undefined || kind !== 'whole') return value ?? null
  const whole = Number(value)
  if (!Number.isSafeInteger(whole)) throw new Error(`${String(value)} is no whole number that can be copied`)
  return whole
}

function toDigest(cell: Value): string | number | null | readonly string[] {
  return cell instanceof Uint8Array ? [hash('sha256', cell)] : cell
}

function sizeOf(cell: Value): number {
  return typeof cell === 'string' || cell instanceof Uint8Array ? cell.length : 8
}

/** A name that both databases accept. */
export function quote(name: string): string {
  return `"${name}"`
}
