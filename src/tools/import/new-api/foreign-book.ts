/** A cell as text, whatever its type in the database; null for NULL. */
export type Cell = string | null

/** A table of another gateway, with its actual columns: forks have additional columns and lack others. */
export type ForeignTable = { readonly columns: readonly string[]; readonly rows: readonly (readonly Cell[])[] }

/** A database of another gateway: the tables that are read, and the number of rows of all others. */
export type ForeignBook = {
  readonly tables: ReadonlyMap<string, ForeignTable>
  readonly counted: ReadonlyMap<string, number>
  /** Built from the API of the other gateway for administrators: without users, and mostly without vendor keys. */
  readonly isExport?: true
}

/** Tables whose rows are read; rows of all other tables are counted. */
export const wantedTables: ReadonlySet<string> = new Set([
  'channels',
  'abilities',
  'users',
  'tokens',
  'options',
  'redemptions',
])

/** A row, read by column name. */
export type TrackedRow = {
  /**
   * Trimmed, because columns of fixed width are padded with spaces; undefined for a missing column, NULL or an empty
   * text.
   */
  text(column: string): string | undefined
  /** Undefined if it is not a whole number. */
  whole(column: string): bigint | undefined
  truth(column: string): boolean
  /**
   * Like `text`, for a column of which only a part is used: the rest is reported with the columns that were not read.
   */
  peek(column: string): string | undefined
}

/** The rows of a table. Records which columns were read: other columns that are not empty are reported. */
export class TrackedTable {
  readonly rows: readonly TrackedRow[]
  readonly name: string
  readonly #table: ForeignTable
  readonly #columnsRead = new Set<string>()

  constructor(name: string, table: ForeignTable | undefined) {
    this.name = name
    this.#table = table ?? { columns: [], rows: [] }
    const places = new Map(this.#table.columns.map((column, i) => [column, i]))
    const peek = (row: readonly Cell[], column: string): string | undefined => {
      const at = places.get(column)
      const text = at === undefined ? undefined : row[at]?.trim()
      return text === '' ? undefined : text
    }
    const cell = (row: readonly Cell[], column: string): string | undefined => {
      this.#columnsRead.add(column)
      return peek(row, column)
    }
    this.rows = this.#table.rows.map(row => ({
      text: column => cell(row, column),
      peek: column => peek(row, column),
      whole: column => wholeOf(cell(row, column)),
      truth: column => ['1', 't', 'true', '\u0001'].includes(cell(row, column)?.toLowerCase() ?? ''),
    }))
  }

  has(column: string): boolean {
    return this.#table.columns.includes(column)
  }

  /** Columns that were not read, each with the number of rows in which it is not empty. */
  left(): readonly { readonly column: string; readonly count: number }[] {
    return this.#table.columns.flatMap((column, i) => {
      if (this.#columnsRead.has(column)) return []
      const count = this.#table.rows.filter(row => !isNothing(row[i] ?? null)).length
      return count === 0 ? [] : [{ column, count }]
    })
  }
}

function isNothing(cell: Cell): boolean {
  return cell === null || ['', '0', 'f', 'false', '{}', '[]', 'null', '\u0000'].includes(cell.trim().toLowerCase())
}

function wholeOf(text: string | undefined): bigint | undefined {
  const [, digits] = /^(-?\d{1,30})(?:\.0+)?$/.exec(text ?? '') ?? []
  return digits === undefined ? undefined : BigInt(digits)
}
