import { DumpFault, DumpStatements, type Statement } from './dump-statements.ts'
import { StatementReader } from './dump-values.ts'
import { type Cell, type ForeignBook, wantedTables } from './foreign-book.ts'

type Growing = { readonly columns: readonly string[]; readonly rows: Cell[][] }

/** Words that begin a part of a table definition that is not a column. */
const noColumns = new Set([
  'PRIMARY',
  'UNIQUE',
  'KEY',
  'INDEX',
  'FULLTEXT',
  'SPATIAL',
  'CONSTRAINT',
  'FOREIGN',
  'CHECK',
  'PERIOD',
])
/** Statements that change rows or columns in ways that a dump does not. */
const changing = new Set(['UPDATE', 'DELETE', 'LOAD', 'RENAME', 'MERGE'])
const unicode = /^(?:utf8|utf8mb3|utf8mb4|binary|ascii|default)$/i
const lastWords = /^SET (?:SQL_NOTES ?= ?@OLD_SQL_NOTES|NOTE_VERBOSITY ?= ?@OLD_NOTE_VERBOSITY)$/i

/**
 * Reads a dump of mysqldump or mariadb-dump.
 * @param isEndless it has no mark of its end, and the operator confirms that it is complete
 * @throws DumpFault if it cannot be read completely: then nothing is imported
 */
export async function readDump(pieces: AsyncIterable<Uint8Array>, isEndless: boolean): Promise<ForeignBook> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const statements = new DumpStatements()
  const made = new Dump(statements)
  let last = ''
  const take = (text: string, isLast: boolean): void => {
    for (const statement of statements.read(text, isLast)) {
      made.take(statement)
      last = statement.text
    }
  }
  try {
    for await (const piece of pieces) take(decoder.decode(piece, { stream: true }), false)
    take(decoder.decode(), true)
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw new Error('the dump is not UTF-8: create it with --default-character-set=utf8mb4 --hex-blob', {
      cause: error,
    })
  }
  const { isMarked } = statements.finish()
  if (!isMarked && !isEndless && !lastWords.test(last.replaceAll(/\s+/g, ' ')))
    throw new Error(
      'the dump has no end marker, so it may be truncated: create it without --compact and --skip-comments, or use --without-end',
    )
  return made.book()
}

class Dump {
  readonly #statements: DumpStatements
  readonly #tables = new Map<string, Growing>()
  readonly #counted = new Map<string, number>()

  constructor(statements: DumpStatements) {
    this.#statements = statements
  }

  book(): ForeignBook {
    return { tables: this.#tables, counted: this.#counted }
  }

  take(statement: Statement): void {
    // Backslashes escape nothing there, so its texts would lose them.
    if (/^(?:PRAGMA|BEGIN TRANSACTION)\b/i.test(statement.text))
      throw new DumpFault(statement.line, 'it is a dump of SQLite: import the database file itself')
    const reader = new StatementReader(statement, this.#statements.isPlain)
    const word = reader.word()
    if (word === 'CREATE') this.#create(reader, statement)
    else if (word === 'INSERT' || word === 'REPLACE') this.#insert(reader, statement)
    else if (word === 'SET') this.#set(statement)
    else if (word === 'ALTER') this.#alter(reader, statement)
    else if (word === 'DROP' && reader.isNext('TABLE')) {
      if (reader.isNext('IF')) reader.isNext('EXISTS')
      this.#tables.delete(reader.name().text)
    } else if (
      word !== undefined &&
      changing.has(word) &&
      [...wantedTables].some(name => statement.text.includes(name))
    )
      throw new DumpFault(statement.line, `${word} is not a statement of a dump`)
  }

  #set({ text, line }: Statement): void {
    const names = /\b(?:SET NAMES|CHARACTER_SET_CLIENT\s*=)\s*'?(\w+)'?/i.exec(text)?.[1]
    if (names !== undefined && !unicode.test(names))
      throw new DumpFault(line, `its encoding is ${names}: create it with --default-character-set=utf8mb4`)
    const mode = /\bSQL_MODE\s*=\s*'([^']*)'/i.exec(text)?.[1]
    if (mode !== undefined) this.#statements.isPlain = /\bNO_BACKSLASH_ESCAPES\b/i.test(mode)
  }

  #create(reader: StatementReader, { line }: Statement): void {
    if (reader.isNext('TEMPORARY') || !reader.isNext('TABLE')) return
    if (reader.isNext('IF')) {
      reader.isNext('NOT')
      reader.isNext('EXISTS')
    }
    const name = reader.name().text
    if (!wantedTables.has(name)) return void this.#counted.set(name, this.#counted.get(name) ?? 0)
    if (this.#tables.has(name)) throw new DumpFault(line, `there is a second table ${name}: dump only one database`)
    const columns: string[] = []
    reader.need('(')
    do {
      const column = reader.name()
      if (column.isQuoted || !noColumns.has(column.text.toUpperCase()) || isType(reader)) columns.push(column.text)
      reader.skipPart()
    } while (reader.sign(','))
    reader.need(')')
    this.#tables.set(name, { columns, rows: [] })
  }

  #insert(reader: StatementReader, { line }: Statement): void {
    for (const word of ['LOW_PRIORITY', 'DELAYED', 'HIGH_PRIORITY', 'IGNORE', 'INTO']) reader.isNext(word)
    const name = reader.name().text
    const isWanted = wantedTables.has(name)
    const table = this.#tables.get(name)
    if (isWanted && !table)
      throw new DumpFault(
        line,
        `there are rows of ${name} before its CREATE TABLE: include the table definitions in the dump`,
      )
    let columns = table?.columns ?? []
    if (reader.sign('(')) {
      const named: string[] = []
      do named.push(reader.name().text)
      while (reader.sign(','))
      reader.need(')')
      columns = named
    }
    if (!reader.isNext('VALUES') && !reader.isNext('VALUE')) throw reader.fault('VALUES is missing')
    let count = 0
    do {
      if (table) table.rows.push(arrange(readRow(reader), columns, table, reader))
      else reader.skipBrackets()
      count++
    } while (reader.sign(','))
    if (!reader.isOver) throw reader.fault('unexpected text follows its rows')
    if (!isWanted) this.#counted.set(name, (this.#counted.get(name) ?? 0) + count)
  }

  #alter(reader: StatementReader, { text, line }: Statement): void {
    if (!reader.isNext('TABLE')) return
    const { text: name } = reader.name()
    if (
      wantedTables.has(name) &&
      /\b(?:ADD|DROP|CHANGE|RENAME)\s+(?:COLUMN\s+)?`?\w+`?\s+(?!KEY|\()/i.test(text) &&
      /\b(?:COLUMN|CHANGE|RENAME)\b/i.test(text)
    )
      throw new DumpFault(line, `it changes the columns of ${name}, which is not supported`)
  }
}

/**
 * Whether a word that could begin an index is the name of a column: then a type follows it, not a name and a bracket.
 */
function isType(reader: StatementReader): boolean {
  const types = [
    'VARCHAR',
    'CHAR',
    'TEXT',
    'LONGTEXT',
    'MEDIUMTEXT',
    'TINYTEXT',
    'BIGINT',
    'INT',
    'TINYINT',
    'SMALLINT',
    'BLOB',
    'LONGBLOB',
    'VARBINARY',
    'DATETIME',
    'JSON',
  ]
  return types.some(type => reader.isNext(type))
}

function readRow(reader: StatementReader): Cell[] {
  const row: Cell[] = []
  reader.need('(')
  do row.push(reader.value())
  while (reader.sign(','))
  reader.need(')')
  return row
}

/** A row in the order of the table's columns. */
function arrange(row: Cell[], columns: readonly string[], table: Growing, reader: StatementReader): Cell[] {
  if (row.length !== columns.length) throw reader.fault(`a row has ${row.length} values for ${columns.length} columns`)
  if (columns === table.columns) return row
  const unknown = columns.find(column => !table.columns.includes(column))
  if (unknown !== undefined) throw reader.fault(`there is no column ${unknown}`)
  return table.columns.map(column => row[columns.indexOf(column)] ?? null)
}
