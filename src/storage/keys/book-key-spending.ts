import { isLate } from '../../domain/budget.ts'
import { byDay } from '../by-day.ts'
import { ask, type QueryProgram } from '../query.ts'
import type { WriterIdentity } from '../writer-identity.ts'
import { lockKeys } from './lock.ts'
import { booking, bookingParams, comeBack, spend } from './spend.ts'

/** Keys of one statement; a statement costs as much as three keys. */
const together = 16
// The first row sets the types of all of them.
const rows = ['(CAST(? AS TEXT), CAST(? AS BIGINT))', ...Array<string>(together - 1).fill('(?, ?)')]
const spendMany = `UPDATE key SET ${booking('v.column2')} FROM (VALUES ${rows.join(', ')}) AS v WHERE key.id = v.column1`

/**
 * Books what several keys have spent, many with one statement. Keys are locked in the order of their ids, so that two
 * transactions cannot deadlock.
 * @throws Error if there is no such key
 */
export function* bookKeySpending(
  { zone }: Pick<WriterIdentity, 'zone'>,
  spent: readonly (readonly [keyId: string, amount: number, at: number, ...rest: unknown[]])[],
  now: number,
): QueryProgram<void> {
  const there = yield* lockKeys(spent.map(([keyId]) => keyId))
  const missing = spent.find(([keyId]) => !there.has(keyId))
  if (missing) throw new Error(`there is no key ${missing[0]} to charge`)
  for (const ofDay of byDay(zone, spent, ([, , at]) => at)) {
    const sums = new Map<string, number>()
    let last = 0
    for (const [keyId, amount, at] of ofDay) {
      sums.set(keyId, (sums.get(keyId) ?? 0) + amount)
      last = Math.max(last, at)
    }
    yield* bookSums(zone, [...sums], last)
    if (isLate(last, now, zone)) for (const keyId of sums.keys()) yield comeBack({ zone }, keyId, now)
  }
}

function* bookSums(
  zone: string,
  sums: readonly (readonly [keyId: string, amount: number])[],
  at: number,
): QueryProgram<void> {
  const inMany = sums.length - (sums.length % together)
  for (let next = 0; next < inMany; next += together)
    yield ask(spendMany, ...bookingParams({ zone }, at), ...sums.slice(next, next + together).flat())
  for (const [keyId, amount] of sums.slice(inMany)) yield spend({ zone }, { keyId, amount, heldBack: 0, at })
}
