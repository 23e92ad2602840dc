import type { AttemptRecord, FailureValues, LogRow } from '../../domain/index.ts'
import { markMembers } from '../../domain/shapes/log-row.ts'
import { cellsOf } from '../../domain/shapes/member.ts'
import { begunAt } from '../charge-batches/time-bounds.ts'
import { type LogBatchBody, type What, whatMembers, type Who, whoMembers } from './members.ts'

/** Rows of the log as one text, for the writer. */
export type LogBatchText = {
  /** When the first and the last of their requests began, in milliseconds since the epoch, from their ids. */
  readonly firstMs: number
  readonly lastMs: number
  readonly count: number
  /** The JSON of a `LogBatchBody`; `docs/storage.md` describes the format. */
  readonly body: string
  /** When each key was last used, as the JSON of `Used[]`: sending text to a thread costs one copy. */
  readonly used: string
}

export type Used = readonly [keyId: string, at: number]

type WhoPlace = { readonly place: number; readonly row: LogRow; usedAt: number }
type WhatPlace = { readonly place: number; readonly row: LogRow }

/** Values of one model are compared directly, which is faster while there are few. */
const comparedMax = 16

const whatNames = Object.keys(whatMembers) as (keyof typeof whatMembers)[]

/** When the request of a row began, which decides its position in the log. */
export function sortMs({ id, time }: Pick<LogRow, 'id' | 'time'>): number {
  const begun = begunAt(id)
  return Number.isNaN(begun) ? time : begun
}

/** Writes rows as a batch. Of two rows with one id the first is kept. */
export function draftLogBatch(rows: readonly LogRow[]): LogBatchText {
  const sorted = sortById(rows)
  const dictionary = new Dictionary()
  const length = sorted.length
  const first = sorted[0] as LogRow
  const id = sharedStart(first.id, (sorted[length - 1] as LogRow).id)
  const { time } = first
  const columns = new Columns()
  let [firstMs, lastMs] = [Infinity, -Infinity]
  for (const row of sorted) {
    const ms = sortMs(row)
    if (ms < firstMs) firstMs = ms
    if (ms > lastMs) lastMs = ms
    columns.add(row, id.length, time, dictionary)
  }
  const { whos, whats } = dictionary
  const body: LogBatchBody = { id, time, ...columns.lists(), whos, whats }
  return { firstMs, lastMs, count: length, body: JSON.stringify(body), used: JSON.stringify(dictionary.used()) }
}

/** Rows in the order of their ids, each id once. They are usually in order already. */
export function sortById(rows: readonly LogRow[]): readonly LogRow[] {
  let isSorted = true
  for (let i = 1; i < rows.length; i++) isSorted &&= (rows[i - 1] as LogRow).id < (rows[i] as LogRow).id
  if (isSorted) return rows
  const sorted = rows.toSorted((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0))
  return sorted.filter((row, i) => row.id !== sorted[i - 1]?.id)
}

type Mark = { readonly name: keyof typeof markMembers; readonly column: string }
const marks: readonly Mark[] = Object.entries(markMembers).map(([name, { column }]) => ({
  name: name as Mark['name'],
  column,
}))

/** A list of values that not every row has. */
class Sparse<T> {
  readonly column: string
  readonly values: (T | null)[] = []
  hasAny = false

  constructor(column: string) {
    this.column = column
  }

  push(value: T | null): void {
    this.values.push(value)
    this.hasAny ||= value !== null
  }
}

/** One list for each column whose values differ by row. */
class Columns {
  readonly #ids: string[] = []
  readonly #times: number[] = []
  readonly #durations: number[] = []
  readonly #clientIds = new Sparse<string>('client_request_id')
  readonly #inputs = new Sparse<number>('input_tokens')
  readonly #outputs = new Sparse<number>('output_tokens')
  readonly #errors = new Sparse<FailureValues>('error_values')
  readonly #messages = new Sparse<string>('upstream_said')
  readonly #attempts = new Sparse<readonly AttemptRecord[]>('attempts')
  readonly #saved = new Sparse<number>('saved')
  readonly #aliases = new Sparse<string>('alias')
  readonly #marks = marks.map(({ column }) => new Sparse<number>(column))
  readonly #who: number[] = []
  readonly #what: number[] = []

  add(row: LogRow, idStart: number, since: number, dictionary: Dictionary): void {
    this.#ids.push(row.id.slice(idStart))
    this.#times.push(row.time - since)
    this.#durations.push(Math.round(row.durationMs))
    this.#clientIds.push(row.clientRequestId)
    this.#inputs.push(row.inputTokens)
    this.#outputs.push(row.outputTokens)
    this.#errors.push(row.errorValues)
    this.#messages.push(row.upstreamSaid)
    this.#attempts.push(row.attempts)
    this.#saved.push(row.saved ?? null)
    this.#aliases.push(row.alias ?? null)
    for (let i = 0; i < marks.length; i++)
      (this.#marks[i] as Sparse<number>).push(row.marks?.[(marks[i] as Mark).name] ?? null)
    this.#who.push(dictionary.placeOfWho(row))
    this.#what.push(dictionary.placeOfWhat(row))
  }

  /** The lists that are not empty. */
  lists() {
    return {
      ids: this.#ids,
      times: this.#times,
      duration_ms: this.#durations,
      ...Object.fromEntries(
        [
          this.#clientIds,
          this.#inputs,
          this.#outputs,
          this.#errors,
          this.#messages,
          this.#attempts,
          this.#saved,
          this.#aliases,
          ...this.#marks,
        ].flatMap(list => (list.hasAny ? [[list.column, list.values] as const] : [])),
      ),
      who: this.#who,
      what: this.#what,
    }
  }
}

function sharedStart(a: string, b: string): string {
  let length = 0
  while (length < a.length && a.charCodeAt(length) === b.charCodeAt(length)) length++
  return a.slice(0, length)
}

/** Shared values, each once, by the index at which they are written. */
class Dictionary {
  /** Clients by key, or by key and attribution: one key may have as many end users as requests. */
  readonly #whos = new Map<string | null, WhoPlace[]>()
  readonly #whats = new Map<string | null, WhatPlace[]>()
  /**
   * Values beyond `comparedMax` are found by their text: clients choose names of fields, possibly new ones in every
   * request.
   */
  readonly #otherWhats = new Map<string, number>()
  readonly whos: Who[] = []
  readonly whats: What[] = []

  placeOfWho(row: LogRow): number {
    const attribution = row.attribution ?? ''
    const whose = attribution === '' ? row.keyId : `${row.keyId} ${attribution}`
    const known = this.#whos.get(whose)
    for (const one of known ?? []) {
      if (one.row.user !== row.user || one.row.group !== row.group) continue
      if (row.time > one.usedAt) one.usedAt = row.time
      return one.place
    }
    const who = { ...cellsOf(whoMembers, row), ...(attribution !== '' && { attribution }) } as Who
    const place = this.whos.push(who) - 1
    const one = { place, row, usedAt: row.time }
    if (known) known.push(one)
    else this.#whos.set(whose, [one])
    return place
  }

  placeOfWhat(row: LogRow): number {
    const known = this.#whats.get(row.model)
    for (const one of known ?? []) if (sameWhat(one.row, row)) return one.place
    const what = { ...cellsOf(whatMembers, row), ...(row.cache && { cache: row.cache }) } as What
    if (known && known.length >= comparedMax) return this.#placeOfOther(what)
    const place = this.whats.push(what) - 1
    if (known) known.push({ place, row })
    else this.#whats.set(row.model, [{ place, row }])
    return place
  }

  #placeOfOther(what: What): number {
    const name = JSON.stringify(what)
    let place = this.#otherWhats.get(name)
    if (place === undefined) this.#otherWhats.set(name, (place = this.whats.push(what) - 1))
    return place
  }

  used(): readonly Used[] {
    const used = new Map<string, number>()
    for (const places of this.#whos.values())
      for (const { row, usedAt } of places)
        if (row.keyId !== null) used.set(row.keyId, Math.max(usedAt, used.get(row.keyId) ?? 0))
    return [...used]
  }
}

/** Compares each row with earlier ones, without building more than the compared part. */
function sameWhat(a: LogRow, b: LogRow): boolean {
  if ((a.cache ?? null) !== (b.cache ?? null)) return false
  for (let i = 0; i < whatNames.length; i++) {
    const name = whatNames[i] as (typeof whatNames)[number]
    const one = a[name]
    const other = b[name]
    if (one !== other && !(Array.isArray(one) && Array.isArray(other) && sameNames(one, other))) return false
  }
  return true
}

function sameNames(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((name, i) => name === b[i])
}
