import type { Anchor, Audit } from '../../domain/index.ts'
import type { QueryProgram, Value } from '../query.ts'
import type { BookSums } from './sum-books.ts'

/** The type of a stored cell, in both databases. */
export type CellKind = 'text' | 'whole' | 'bytes'

/** A table to copy. */
export type TableLayout = {
  readonly name: string
  readonly columns: readonly { readonly name: string; readonly kind: CellKind }[]
  /** Columns of the primary key, in its order. */
  readonly key: readonly string[]
}

/** Cells of a row in the order of the columns. */
export type Cells = readonly Value[]

/** A source database, at one moment. */
export type CopySource = {
  /** Its address for messages: without a password. */
  readonly place: string
  /** Runs on the copied moment. */
  run<T>(steps: QueryProgram<T>): Promise<T>
  /** Runs on the current state. */
  runNow<T>(steps: QueryProgram<T>): Promise<T>
  /** The last number that the database assigned, for each table whose rows it numbers. */
  lastNumbers(): Promise<ReadonlyMap<string, number>>
  close(): Promise<void>
}

/** A target database with the tables of this version: empty, without triggers, and marked until it is kept. */
export type CopyTarget = {
  readonly place: string
  /** False if a text may not contain the character 0. */
  readonly holdsNul: boolean
  run<T>(steps: QueryProgram<T>): Promise<T>
  put(table: TableLayout, rows: readonly Cells[]): Promise<void>
  /** Numbers continue after these, and after those of the rows. */
  numberFrom(last: ReadonlyMap<string, number>): Promise<void>
  /** Creates the triggers; from here on they check rows. */
  seal(): Promise<void>
  /** Removes the mark: from here on it is an ordinary database. */
  keep(): Promise<void>
  /** Closes the target. One that was not kept is as empty as before. */
  close(): Promise<void>
}

export type CopiedTable = {
  readonly table: string
  readonly rows: number
  /** SHA-256 of the rows in the order of their key, equal in both databases. */
  readonly digest: string
}

/** The copied rows, and the results of the verification. */
export type Copied = {
  readonly from: string
  readonly to: string
  readonly tables: readonly CopiedTable[]
  readonly rows: number
  /** Texts in which the character 0 became U+FFFD: PostgreSQL stores none. */
  readonly textsChanged: number
  /** The audit of the copy, compared with the anchor of the source. */
  readonly audit: Audit
  readonly anchor: Anchor
  /** Equal in the source and the copy. */
  readonly sums: BookSums
}
