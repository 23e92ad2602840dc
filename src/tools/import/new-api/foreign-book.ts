/** A cell as text, whatever its database made of it; null for nothing. */
export type Cell = string | null

/** A table of another gateway, as it was found. Forks have more columns and lack some: nothing is taken for granted. */
export type ForeignTable = { readonly columns: readonly string[]; readonly rows: readonly (readonly Cell[])[] }

/** A database of another gateway: the tables that are read, and how many rows those have that are not. */
export type ForeignBook = {
  readonly tables: ReadonlyMap<string, ForeignTable>
  readonly counted: ReadonlyMap<string, number>
  /** Made of what the other gateway returns to administrators: without people, and mostly without keys of vendors. */
  readonly isExport?: true
}

/** Tables whose rows are read; of all others they are counted. */
export const wantedTables: ReadonlySet<string> = new Set([
  'channels',
  'abilities',
  'users',
  'tokens',
  'options',
  'redemptions',
])

/** A row that is read by the names of columns. */
export type Asked = {
  /** Trimmed, as columns of fixed width are filled up with blanks; undefined for a column that is not there, null or empty. */
  text(column: string): string | undefined
  /** Undefined for what is no whole number. */
  whole(column: string): bigint | undefined
  truth(column: string): boolean
  /** As `text`, of a column of which only a part is used: the rest is reported with the columns that were not read. */
  peek(column: string): string | undefined
}

/** The rows of a table, which records what columns were read: others that are not empty are reported. */
export class AskedTable {
  readonly rows: readonly Asked[]
  readonly name: string
  readonly #table: ForeignTable
  readonly #asked = new Set<string>()

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
      this.#asked.add(column)
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

  /** Columns that were not read, and in how many rows they are not empty. */
  left(): readonly { readonly column: string; readonly count: number }[] {
    return this.#table.columns.flatMap((column, i) => {
      if (this.#asked.has(column)) return []
      const count = this.#table.rows.filter(row => !isNothing(row[i] ?? null)).length
      return count === 0 ? [] : [{ column, count }]
    })
  }
}

function isNothing(cell: Cell): boolean {
  return cell === null || ['', '0', 'f', 'false', '{}', '[]', 'null', '\u0000'].includes(cell.trim().toLowerCase())
}

function wholeOf(text: string | undefined): bigint | undefined {
  return text !== undefined && /^-?\d{1,30}$/.test(text) ? BigInt(text) : undefined
}
