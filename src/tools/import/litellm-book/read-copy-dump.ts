import { DumpFault } from '../new-api/dump-statements.ts'
import type { Cell, ForeignBook, ForeignTable } from '../new-api/foreign-book.ts'

const begins = /^-- PostgreSQL database dump$/
const completes = /^-- PostgreSQL database dump complete$/
const copies = /^COPY (?:(?:"[^"]+"|\w+)\.)?("(?:[^"]|"")+"|\w+) \((.*)\) FROM stdin;$/
const inserts = /^INSERT INTO (?:(?:"[^"]+"|\w+)\.)?"?(\w+)"?/
const encoding = /^SET client_encoding = '([^']*)';$/
const escapes: { readonly [char: string]: string } = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' }

type Copied = { readonly name: string; readonly columns: readonly string[]; readonly rows: Cell[][] | undefined }

/**
 * Reads a plain-text dump of pg_dump.
 * @param wanted tables whose rows are read; rows of all other tables are counted
 * @throws DumpFault if it cannot be read completely: then nothing is imported
 */
export async function readCopyDump(
  pieces: AsyncIterable<Uint8Array>,
  wanted: ReadonlySet<string>,
): Promise<ForeignBook> {
  const dump = new CopyDump(wanted)
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let rest = ''
  const take = (text: string): void => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) dump.take(line)
  }
  try {
    for await (const piece of pieces) take(decoder.decode(piece, { stream: true }))
    take(decoder.decode())
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw new Error('the dump is not UTF-8: create it with pg_dump --encoding=UTF8', { cause: error })
  }
  dump.take(rest)
  return dump.finish()
}

class CopyDump {
  readonly #wanted: ReadonlySet<string>
  readonly #tables = new Map<string, ForeignTable>()
  readonly #counted = new Map<string, number>()
  readonly #marks = { begun: 0, completed: 0 }
  #line = 0
  #copied: Copied | undefined

  constructor(wanted: ReadonlySet<string>) {
    this.#wanted = wanted
  }

  take(given: string): void {
    this.#line++
    const line = given.endsWith('\r') ? given.slice(0, -1) : given
    if (this.#copied) this.#row(line, this.#copied)
    else this.#statement(line)
  }

  /** @throws DumpFault if something is not closed, or the mark of a complete dump is missing */
  finish(): ForeignBook {
    if (this.#copied) throw this.#fault(`the rows of ${this.#copied.name} are incomplete: the dump is truncated`)
    const { begun, completed } = this.#marks
    if (begun === 0 || begun > completed)
      throw this.#fault(
        "'-- PostgreSQL database dump complete' is missing: the dump is truncated, or was not created by pg_dump",
      )
    return { tables: this.#tables, counted: this.#counted }
  }

  #statement(line: string): void {
    if (begins.test(line)) this.#marks.begun++
    if (completes.test(line)) this.#marks.completed++
    const given = encoding.exec(line)?.[1]
    if (given !== undefined && given !== 'UTF8')
      throw this.#fault(`its encoding is ${given}: create it with pg_dump --encoding=UTF8`)
    const inserted = inserts.exec(line)?.[1]
    if (inserted !== undefined && this.#wanted.has(inserted))
      throw this.#fault(`the rows of ${inserted} are INSERT statements: create the dump without --inserts`)
    const [, name, columns] = copies.exec(line) ?? []
    if (name === undefined || columns === undefined) {
      if (line.startsWith('COPY ')) throw this.#fault('a COPY is not in the format of pg_dump')
      return
    }
    const table = unquote(name)
    const isWanted = this.#wanted.has(table)
    if (isWanted && this.#tables.has(table)) throw this.#fault(`there is a second table ${table}: dump only one schema`)
    this.#copied = { name: table, columns: columns.split(', ').map(unquote), rows: isWanted ? [] : undefined }
    if (!isWanted) this.#counted.set(table, this.#counted.get(table) ?? 0)
  }

  #row(line: string, { name, columns, rows }: Copied): void {
    if (line === '\\.') {
      if (rows) this.#tables.set(name, { columns, rows })
      this.#copied = undefined
      return
    }
    if (!rows) return void this.#counted.set(name, (this.#counted.get(name) ?? 0) + 1)
    const cells = line.split('\t')
    if (cells.length !== columns.length)
      throw this.#fault(`a row of ${name} has ${cells.length} values for ${columns.length} columns`)
    rows.push(cells.map(unescape))
  }

  #fault(what: string): DumpFault {
    return new DumpFault(this.#line, what)
  }
}

function unquote(name: string): string {
  return name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name
}

function unescape(cell: string): Cell {
  if (cell === '\\N') return null
  return cell.replaceAll(/\\(.)/g, (_, char: string) => escapes[char] ?? char)
}
