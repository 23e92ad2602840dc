import { firstIdAt } from '../../util/ids.ts'
import { isResult, kindOfRow, type LogFilter, type LogMatch } from '../../domain/index.ts'
import type { What, Who } from './members.ts'
import type { LogBatch } from './parse.ts'

type Words = Pick<LogFilter, 'before' | 'after'> & LogMatch

/** The prefix of request ids. */
const prefix = 'req_'

/** A range of ids: from `from` on, and before `before`. */
export type IdRange = { readonly from: string; readonly before: string | undefined }

/** Converts times to ids, which are ordered by time. */
export function rangeOf({ id, since, until, before, after }: Words): IdRange {
  // The next text after an id is the id with the smallest character appended.
  const froms = [at(since), after === undefined ? undefined : `${after}\0`, id]
  const ends = [at(until), before, id === undefined ? undefined : `${id}\0`]
  return { from: inOrder(froms).at(-1) ?? '', before: inOrder(ends)[0] }
}

function at(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : firstIdAt(prefix, ms)
}

function inOrder(ids: readonly (string | undefined)[]): readonly string[] {
  return ids.filter(id => id !== undefined).toSorted()
}

/** Positions of a batch's rows whose content matches: shared values are examined once. */
export function placesIn(batch: LogBatch, match: Words): readonly number[] {
  const { from, before } = rangeOf(match)
  const whos = batch.whos.map(who => isWho(who, match))
  const whats = batch.whats.map(what => isWhat(what, match))
  const { endedFrom } = match
  const places: number[] = []
  const last = before === undefined ? batch.count : batch.firstAt(before)
  for (let at = batch.firstAt(from); at < last; at++) {
    if (whos[batch.whoOf(at)] !== true || whats[batch.whatOf(at)] !== true) continue
    if (endedFrom === undefined || batch.timeOf(at) + batch.durationOf(at) >= endedFrom) places.push(at)
  }
  return places
}

function isWho(who: Who, { keyId, user, group, endUser, tag }: LogMatch): boolean {
  return (
    is(who.key_id, keyId) &&
    is(who.user_name, user) &&
    is(who.group_name, group) &&
    has(who.attribution, endUser) &&
    has(who.attribution, tag)
  )
}

/** Whether shared values match. */
export function isWhat(
  what: Pick<What, 'model' | 'operation' | 'upstream' | 'outcome' | 'status' | 'cache'>,
  { model, operation, upstream, outcome, result, status, kind, lookups, cache }: LogMatch,
): boolean {
  return (
    is(what.model, model) &&
    is(what.operation, operation) &&
    is(what.upstream, upstream) &&
    is(what.outcome, outcome) &&
    is(what.cache ?? null, cache) &&
    (result === undefined || isResult(what, result)) &&
    (kind === undefined || kindOfRow(what) === kind) &&
    (lookups !== false || kindOfRow(what) !== 'lookup') &&
    (status === undefined || isStatus(what.status, status))
  )
}

/** Whether an attribution contains the id of a label. */
function has(attribution: string | undefined, id: string | undefined): boolean {
  return id === undefined || attribution?.split(' ').includes(id) === true
}

function is(value: string | null, wanted: string | undefined): boolean {
  return wanted === undefined || value === wanted
}

function isStatus(status: number | null, wanted: NonNullable<LogMatch['status']>): boolean {
  if (typeof wanted === 'number') return status === wanted
  return status !== null && Math.floor(status / 100) === Number(wanted[0])
}
