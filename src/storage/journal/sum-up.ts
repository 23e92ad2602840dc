import { firstIdAt } from '../../util/ids.ts'
import { lockUncompacted } from '../log-batches/missing.ts'
import { ask, lockRows, type QueryProgram, type Value } from '../query.ts'
import { text, whole } from '../rows.ts'
import { readSound } from '../charge-batches/find.ts'
import type { Booked } from '../charge-batches/parse.ts'
import { begunAt } from '../charge-batches/time-bounds.ts'
import { countUses } from './booked.ts'
import { dayMs, hourMs } from './summed.ts'
import { findTokens } from './tokens.ts'

/** The number of charges in one commit, which takes some milliseconds while other writes wait. */
const chargesTogether = 1_000
const batchesTogether = 16
/** The time in milliseconds after which log rows of charges have been written, or never will be. */
const ripeMs = 300_000
/** The range of the log that is searched for tokens, from the first charge of a commit. */
const spanMs = 3_600_000

/** Allows one transaction at a time: others wait for this row. */
const wait = `SELECT value FROM meta WHERE name = 'summed' ${lockRows}`
/** Chains whose first unsummed charge batch is old enough. */
const ripeChains = `SELECT id, upto FROM
  (SELECT c.id, c.position AS last, coalesce(u.position, 0) AS upto FROM chain c LEFT JOIN usage_chain u ON u.chain = c.id) ends
  WHERE last > upto AND (SELECT s.last_id FROM segment s WHERE s.chain = ends.id AND s.position > ends.upto
    ORDER BY s.position LIMIT 1) NOT BETWEEN ? AND ?`

const nextBatches =
  'SELECT chain, position, last_id, body FROM segment WHERE chain = ? AND position > ? ORDER BY position LIMIT ?'
const addUse = `INSERT INTO usage_sum (begun, day, user_name, key_id, model, currency, requests, amount, input_tokens, output_tokens)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (begun, day, key_id, model, user_name, currency) DO UPDATE SET
  requests = usage_sum.requests + excluded.requests, amount = usage_sum.amount + excluded.amount,
  input_tokens = usage_sum.input_tokens + excluded.input_tokens, output_tokens = usage_sum.output_tokens + excluded.output_tokens`
const addSpent = `INSERT INTO spent_sum (hour, user_name, currency, amount) VALUES (?, ?, ?, ?)
  ON CONFLICT (hour, user_name, currency) DO UPDATE SET amount = spent_sum.amount + excluded.amount`
const moveOn = `INSERT INTO usage_chain (chain, position) VALUES (?, ?)
  ON CONFLICT (chain) DO UPDATE SET position = excluded.position`

/**
 * Adds up the next charges in batches of one chain, by the day and the hour of their requests' starts. The position
 * is written with the sums, so each charge counts exactly once, whatever the time of its commit.
 * @returns the number of charges; 0 if nothing is left
 */
export function* sumUp(at: number): QueryProgram<number> {
  yield ask(wait)
  const unripe = unripeAt(at)
  for (const row of yield ask(ripeChains, unripe.from, unripe.to)) {
    const [chain, from] = [text(row, 'id'), whole(row, 'upto')]
    const { booked, upto } = yield* readOn(chain, from, unripe)
    // The next charge batch is damaged: an audit reports it.
    if (upto === from) continue
    yield ask(moveOn, chain, upto)
    yield* add(booked.toSorted((a, b) => (a.id < b.id ? -1 : 1)))
    return booked.length
  }
  return 0
}

/**
 * The range of ids of charge batches that are too recent. A charge batch that is a day ahead was created with a clock
 * that has been corrected since.
 */
type Unripe = { readonly from: string; readonly to: string }

function unripeAt(at: number): Unripe {
  return { from: firstIdAt('req_', at - ripeMs), to: firstIdAt('req_', at + dayMs) }
}

/** The next charges of a chain that are old enough, and the position up to which they are complete. */
function* readOn(
  chain: string,
  from: number,
  unripe: Unripe,
): QueryProgram<{ readonly booked: readonly Booked[]; readonly upto: number }> {
  const booked: Booked[] = []
  for (let upto = from; ; ) {
    const batches = yield ask(nextBatches, chain, upto, batchesTogether)
    for (const batch of batches) {
      const last = text(batch, 'last_id')
      const isUnripe = last >= unripe.from && last <= unripe.to
      if (isUnripe || booked.length >= chargesTogether || isFar(booked[0], last)) return { booked, upto }
      const charges = readSound(batch)
      if (!charges) return { booked, upto }
      for (const one of charges) booked.push(one)
      upto = whole(batch, 'position')
    }
    if (batches.length < batchesTogether) return { booked, upto }
  }
}

function isFar(first: Booked | undefined, id: string): boolean {
  return first !== undefined && Math.abs(begunAt(id) - begunAt(first.id)) > spanMs
}

function* add(booked: readonly Booked[]): QueryProgram<void> {
  const [first, last] = [booked[0], booked.at(-1)]
  if (!first || !last) return
  yield* lockUncompacted(begunAt(first.id), begunAt(last.id))
  const [uses, spent] = [new Sums(), new Sums()]
  const tokens = yield* findTokens(booked.map(({ id }) => id))
  for (const [one, counts] of yield* countUses(booked, tokens)) {
    const { payer, terms, at, amount } = one
    const begun = begunAt(one.id)
    const { requests = 0, inputTokens = 0, outputTokens = 0 } = counts
    uses.add(
      [toStep(begun, dayMs), toStep(at, dayMs), payer.user_name, payer.key_id, terms.model, terms.currency],
      [requests, amount, inputTokens, outputTokens],
    )
    spent.add([toStep(begun, hourMs), payer.user_name, terms.currency], [amount])
  }
  for (const row of uses.rows()) yield ask(addUse, ...row)
  for (const row of spent.rows()) yield ask(addSpent, ...row)
}

function toStep(ms: number, stepMs: number): number {
  return Math.floor(ms / stepMs)
}

/** Counts by their keys. */
class Sums {
  readonly #sums = new Map<string, { readonly place: readonly Value[]; readonly counts: number[] }>()

  add(place: readonly Value[], counts: readonly number[]): void {
    const name = place.join('\n')
    const known = this.#sums.get(name)
    if (!known) return void this.#sums.set(name, { place, counts: [...counts] })
    counts.forEach((count, i) => (known.counts[i] = (known.counts[i] ?? 0) + count))
  }

  rows(): readonly (readonly Value[])[] {
    return [...this.#sums.values()].map(({ place, counts }) => [...place, ...counts])
  }
}
