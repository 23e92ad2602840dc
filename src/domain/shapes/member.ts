import { formatMoney, parseMoney } from '../../util/units.ts'
import type { BudgetPeriod } from '../budget-period.ts'
import * as schemas from './schemas.ts'

/**
 * A member of a stored object: its column, the functions that read and write its cell, and its JSON form with the
 * schema. Each kind of member (a timestamp, an amount) defines these once.
 */
export type AnyMember = {
  readonly column: string
  readonly read: (cell: unknown) => unknown
  readonly write: (value: never) => string | number | null
  readonly schema: object
  /** Converts to the JSON form, and back from the form in requests. */
  readonly show: (value: never) => unknown
  readonly parse: (shown: never) => unknown
}

export type Members = { readonly [name: string]: AnyMember }

/** An object with these members. */
export type Values<M extends Members> = { readonly [N in keyof M]: ReturnType<M[N]['read']> }

/** The cells of these members in its row. */
export type Columns<M extends Members> = { [N in keyof M as M[N]['column']]: ReturnType<M[N]['write']> }

const same = <T>(value: T): T => value
const orNull =
  <From, To>(change: (value: From) => To) =>
  (value: From | null): To | null =>
    value === null ? null : change(value)

const readText = (cell: unknown): string => cell as string
const readTextOrNull = (cell: unknown): string | null => cell as string | null
// PostgreSQL returns 64-bit columns as text.
const readWhole = (cell: unknown): number => Number(cell)
const readWholeOrNull = (cell: unknown): number | null => (cell === null ? null : Number(cell))
const readPeriod = (cell: unknown): BudgetPeriod => cell as BudgetPeriod
const readTexts = (cell: unknown): readonly string[] => JSON.parse(cell as string) as readonly string[]
const writeJson = (value: unknown): string => JSON.stringify(value)

/** ISO 8601, UTC. */
const showMoment = (ms: number): string => new Date(ms).toISOString()
const parseMoment = (text: string): number => Date.parse(text)
const parseAmount = (text: string): number => parseMoney(text) ?? Number.NaN

export function text<const C extends string>(column: C) {
  const { text: schema } = schemas
  return { column, schema, read: readText, write: same<string>, show: same<string>, parse: same<string> }
}

export function textOrNull<const C extends string>(column: C) {
  const plain = same<string | null>
  return { column, schema: schemas.textOrNull, read: readTextOrNull, write: plain, show: plain, parse: plain }
}

/** A client's text, normalised as databases return it: the hash of an entry must match the text that is read later. */
export function foreignOrNull<const C extends string>(column: C) {
  return { ...textOrNull(column), write: orNull((words: string) => words.toWellFormed().replaceAll('\0', '\uFFFD')) }
}

/** One of several fixed words. */
export function oneOf<const C extends string, const W extends string>(column: C, words: readonly W[]) {
  const schema = { type: 'string', enum: words } as const
  return { column, schema, read: (cell: unknown) => cell as W, write: same<string>, show: same<W>, parse: same<W> }
}

/** A budget's period with its reset day, in one word. */
export function period<const C extends string>(column: C) {
  const plain = same<BudgetPeriod>
  return { column, schema: schemas.text, read: readPeriod, write: same<string>, show: plain, parse: plain }
}

/** A boolean, stored as 1 or 0. */
export function flag<const C extends string>(column: C) {
  const plain = same<boolean>
  const write = (value: boolean): number => (value ? 1 : 0)
  return {
    column,
    schema: schemas.truth,
    read: (cell: unknown) => Number(cell) === 1,
    write,
    show: plain,
    parse: plain,
  }
}

export function whole<const C extends string>(column: C) {
  const plain = same<number>
  return { column, schema: schemas.whole, read: readWhole, write: plain, show: plain, parse: plain }
}

export function wholeOrNull<const C extends string>(column: C) {
  const plain = same<number | null>
  return { column, schema: schemas.wholeOrNull, read: readWholeOrNull, write: plain, show: plain, parse: plain }
}

/** A number that is stored as a whole number. */
export function rounded<const C extends string>(column: C) {
  const plain = same<number>
  return {
    column,
    schema: schemas.number,
    read: readWhole,
    write: (value: number): number => Math.round(value),
    show: plain,
    parse: plain,
  }
}

/** Milliseconds since the epoch; ISO 8601 in JSON. */
export function moment<const C extends string>(column: C) {
  const { moment: schema } = schemas
  return { column, schema, read: readWhole, write: same<number>, show: showMoment, parse: parseMoment }
}

export function momentOrNull<const C extends string>(column: C) {
  return {
    column,
    schema: schemas.momentOrNull,
    read: readWholeOrNull,
    write: same<number | null>,
    show: orNull(showMoment),
    parse: orNull(parseMoment),
  }
}

/** Micro-units; a decimal string in JSON. */
export function money<const C extends string>(column: C) {
  const { text: schema } = schemas
  return { column, schema, read: readWhole, write: same<number>, show: formatMoney, parse: parseAmount }
}

export function moneyOrNull<const C extends string>(column: C) {
  return {
    column,
    schema: schemas.textOrNull,
    read: readWholeOrNull,
    write: same<number | null>,
    show: orNull(formatMoney),
    parse: orNull(parseAmount),
  }
}

/** A list of words, stored as JSON. */
export function texts<const C extends string>(column: C) {
  const plain = same<readonly string[]>
  return { column, schema: schemas.texts, read: readTexts, write: writeJson, show: plain, parse: plain }
}

export function textsOrNull<const C extends string>(column: C) {
  const plain = same<readonly string[] | null>
  return {
    column,
    schema: schemas.textsOrNull,
    read: (cell: unknown) => (cell === null ? null : readTexts(cell)),
    write: (value: readonly string[] | null) => (value === null ? null : writeJson(value)),
    show: plain,
    parse: plain,
  }
}

/** Any JSON value, stored as JSON and shown by `show`. */
export function json<Value, const C extends string, const S extends object, Shown>(
  column: C,
  schema: S,
  show: (value: Value) => Shown,
) {
  // Most are empty, so one shared empty object is enough.
  const none = Object.freeze({}) as Value
  const read = (cell: unknown): Value => (cell === '{}' ? none : (JSON.parse(cell as string) as Value))
  return { column, schema, read, write: (value: Value): string => writeJson(value), show, parse: same<Value> }
}

/** The columns of these members, in their order. */
export function columnsOf<M extends Members>(members: M): readonly (M[keyof M]['column'] & string)[] {
  return Object.values(members).map(({ column }) => column)
}

type RowOf = { readonly [column: string]: unknown }

/**
 * Creates a function that reads rows of these members. All results have the same object shape from the start. `rest`:
 * members that are computed from several columns.
 */
export function readerOf<M extends Members, R extends { readonly [name: string]: (row: RowOf) => unknown }>(
  members: M,
  rest: R,
): (row: RowOf) => Values<M> & { readonly [N in keyof R]: ReturnType<R[N]> } {
  const names = Object.keys(members)
  const columns = names.map(name => (members[name] as AnyMember).column)
  const reads = names.map(name => (members[name] as AnyMember).read)
  const restNames = Object.keys(rest)
  const restReads = Object.values(rest)
  // Created in one step: a copy of it is one object. A copy of an object that grew by assignment is twelve objects with
  // ten times the bytes.
  const shape = Object.fromEntries([...names, ...restNames].map(name => [name, null] as const))
  return row => {
    const values: { [name: string]: unknown } = { ...shape }
    for (let i = 0; i < names.length; i++)
      values[names[i] as string] = (reads[i] as AnyMember['read'])(row[columns[i] as string])
    for (let i = 0; i < restNames.length; i++)
      values[restNames[i] as string] = (restReads[i] as (row: RowOf) => unknown)(row)
    return values as Values<M> & { readonly [N in keyof R]: ReturnType<R[N]> }
  }
}

const readers = new WeakMap<Members, (row: RowOf) => object>()

/** Reads a row that has the columns of these members. */
export function readRow<M extends Members>(members: M, row: RowOf): Values<M> {
  let read = readers.get(members)
  if (!read) readers.set(members, (read = readerOf(members, {})))
  return read(row) as Values<M>
}

/** Appends an object's cells to a list, in the order of its columns. */
export function pushCells<M extends Members>(
  members: M,
  values: Values<M>,
  into: { push(cell: string | number | null): unknown },
): void {
  for (const name in members) into.push((members[name] as AnyMember).write(values[name] as never))
}

/** The cells of the given members, by their columns. */
export function cellsOf<M extends Members>(
  members: M,
  values: { readonly [N in keyof M]?: Values<M>[N] | undefined },
): { readonly [column: string]: string | number | null } {
  const cells: { [column: string]: string | number | null } = {}
  for (const name in members) {
    const { column, write } = members[name] as AnyMember
    if (values[name] !== undefined) cells[column] = write(values[name] as never)
  }
  return cells
}
