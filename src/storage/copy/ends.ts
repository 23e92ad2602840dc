import type { Anchor, Audit } from '../../domain/index.ts'
import type { QueryProgram, Value } from '../query.ts'
import type { BookSums } from './sum-books.ts'

/** How a cell is kept, in both databases. */
export type CellKind = 'text' | 'whole' | 'bytes'

/** A table as it is copied. */
export type TableLayout = {
  readonly name: string
  readonly columns: readonly { readonly name: string; readonly kind: CellKind }[]
  /** Columns of the primary key, in its order. */
  readonly key: readonly string[]
}

/** Cells of a row in the order of the columns. */
export type Cells = readonly Value[]

/** A database that is copied, as it is at one moment. */
export type CopySource = {
  /** Where it is, for people: without a password. */
  readonly place: string
  /** Of the moment that is copied. */
  run<T>(steps: QueryProgram<T>): Promise<T>
  /** Of now. */
  runNow<T>(steps: QueryProgram<T>): Promise<T>
  /** The last number that was ever given, of each table whose rows the database numbers. */
  lastNumbers(): Promise<ReadonlyMap<string, number>>
  close(): Promise<void>
}

/** A database that takes a copy, with the tables of this version: empty, without triggers, and marked until it is kept. */
export type CopyTarget = {
  readonly place: string
  /** False where a text may not hold the character 0. */
  readonly holdsNul: boolean
  run<T>(steps: QueryProgram<T>): Promise<T>
  put(table: TableLayout, rows: readonly Cells[]): Promise<void>
  /** Numbers go on after these, and after those that rows have. */
  numberFrom(last: ReadonlyMap<string, number>): Promise<void>
  /** Puts the triggers in force; rows are proved from here on. */
  seal(): Promise<void>
  /** Takes the mark away: from here on it is a database like any other. */
  keep(): Promise<void>
  /** Lets go of it. One that was not kept is as empty as it was. */
  close(): Promise<void>
}

export type CopiedTable = {
  readonly table: string
  readonly rows: number
  /** SHA-256 of the rows in the order of their key, the same in both. */
  readonly digest: string
}

/** What was copied, and how it was proved. */
export type Copied = {
  readonly from: string
  readonly to: string
  readonly tables: readonly CopiedTable[]
  readonly rows: number
  /** Texts in which the character 0 became U+FFFD: PostgreSQL keeps none. */
  readonly textsChanged: number
  /** Of the copy, held against the anchor of what was copied. */
  readonly audit: Audit
  readonly anchor: Anchor
  /** The same on both sides. */
  readonly sums: BookSums
}
