import type { LogRow } from '../../kit/index.ts'
import { cellsOf } from '../../kit/shapes/member.ts'
import { begunAt } from '../segments/reach.ts'
import { type PageBody, type What, whatMembers, type Who, whoMembers } from './members.ts'

/** Rows of the log as one text, on their way to the writer. */
export type PageText = {
  /** When the first and the last of their requests began, milliseconds since the epoch, as their ids say it. */
  readonly firstMs: number
  readonly lastMs: number
  readonly count: number
  /** The JSON of a `PageBody`; `docs/storage.md` says how it reads. */
  readonly body: string
  /** When each key was last used. */
  readonly used: readonly (readonly [keyId: string, at: number])[]
}

type WhoPlace = { readonly place: number; readonly row: LogRow; usedAt: number }
type WhatPlace = { readonly place: number; readonly row: LogRow }

/** Of one model, what is looked for by comparing: it is faster, as long as there is little of it. */
const comparedMax = 16

const whatNames = ['operation', 'status', 'outcome', 'errorCode', 'upstream', 'configRevision'] as const

/** When the request of a row began: what its place in the log goes by. */
export function placeMs({ id, time }: Pick<LogRow, 'id' | 'time'>): number {
  const begun = begunAt(id)
  return Number.isNaN(begun) ? time : begun
}

/** Writes rows as a page. Of two rows with one id the first stays. */
export function draftPage(rows: readonly LogRow[]): PageText {
  const sorted = sortById(rows)
  const dictionary = new Dictionary()
  const length = sorted.length
  const first = sorted[0] as LogRow
  const id = sharedStart(first.id, (sorted[length - 1] as LogRow).id)
  const { time } = first
  const [who, what, ids, times, durations] = [[], [], [], [], []] as [number[], number[], string[], number[], number[]]
  let [firstMs, lastMs] = [Infinity, -Infinity]
  for (const row of sorted) {
    const ms = placeMs(row)
    if (ms < firstMs) firstMs = ms
    if (ms > lastMs) lastMs = ms
    who.push(dictionary.placeOfWho(row))
    what.push(dictionary.placeOfWhat(row))
    ids.push(row.id.slice(id.length))
    times.push(row.time - time)
    durations.push(Math.round(row.durationMs))
  }
  const body: PageBody = {
    id,
    ids,
    time,
    times,
    duration_ms: durations,
    ...column('client_request_id', sorted, row => row.clientRequestId),
    ...column('input_tokens', sorted, row => row.inputTokens),
    ...column('output_tokens', sorted, row => row.outputTokens),
    who,
    what,
    whos: dictionary.whos,
    whats: dictionary.whats,
  }
  return { firstMs, lastMs, count: length, body: JSON.stringify(body), used: dictionary.used() }
}

/** Rows in the order of their ids, each id once. Nearly all come so. */
export function sortById(rows: readonly LogRow[]): readonly LogRow[] {
  let isSorted = true
  for (let i = 1; i < rows.length; i++) isSorted &&= (rows[i - 1] as LogRow).id < (rows[i] as LogRow).id
  if (isSorted) return rows
  const sorted = rows.toSorted((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0))
  return sorted.filter((row, i) => row.id !== sorted[i - 1]?.id)
}

function column<N extends string, V>(
  name: N,
  rows: readonly LogRow[],
  of: (row: LogRow) => V | null,
): { readonly [name in N]?: readonly (V | null)[] } {
  const values = rows.map(of)
  return (values.every(value => value === null) ? {} : { [name]: values }) as { readonly [name in N]?: (V | null)[] }
}

function sharedStart(a: string, b: string): string {
  let length = 0
  while (length < a.length && a.charCodeAt(length) === b.charCodeAt(length)) length++
  return a.slice(0, length)
}

/** What rows share, each once, by the place that it is written at. */
class Dictionary {
  readonly #whos = new Map<string | null, WhoPlace[]>()
  readonly #whats = new Map<string | null, WhatPlace[]>()
  /** By its text, what is beyond those: callers make up names of fields, and may make up new ones for every request. */
  readonly #otherWhats = new Map<string, number>()
  readonly whos: Who[] = []
  readonly whats: What[] = []

  placeOfWho(row: LogRow): number {
    const known = this.#whos.get(row.keyId)
    const found = known?.find(one => one.row.user === row.user && one.row.group === row.group)
    if (found) {
      if (row.time > found.usedAt) found.usedAt = row.time
      return found.place
    }
    const place = this.whos.push(cellsOf(whoMembers, row) as Who) - 1
    const one = { place, row, usedAt: row.time }
    if (known) known.push(one)
    else this.#whos.set(row.keyId, [one])
    return place
  }

  placeOfWhat(row: LogRow): number {
    const known = this.#whats.get(row.model)
    const found = known?.find(one => sameWhat(one.row, row))
    if (found) return found.place
    const what = cellsOf(whatMembers, row) as What
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

  used(): PageText['used'] {
    const used: (readonly [string, number])[] = []
    for (const [keyId, places] of this.#whos)
      if (keyId !== null) used.push([keyId, Math.max(...places.map(({ usedAt }) => usedAt))])
    return used
  }
}

function sameWhat(a: LogRow, b: LogRow): boolean {
  for (const name of whatNames) if (a[name] !== b[name]) return false
  return sameNames(a.forwarded, b.forwarded) && sameNames(a.dropped, b.dropped)
}

function sameNames(a: readonly string[], b: readonly string[]): boolean {
  return a === b || (a.length === b.length && a.every((name, i) => name === b[i]))
}
