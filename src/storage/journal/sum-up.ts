import { firstIdAt } from '../../kit/ids.ts'
import { ask, type QueryProgram, type Value } from '../query.ts'
import { text, whole } from '../rows.ts'
import { readSegment } from '../segments/find.ts'
import type { Booked } from '../segments/parse.ts'
import { begunAt } from '../segments/reach.ts'
import { Counter } from './booked.ts'
import { dayMs, hourMs } from './summed.ts'

/** Of one commit: it takes some milliseconds, and others wait. */
const chargesTogether = 1_000
const segmentsTogether = 16
/** By then the log has the rows of charges, or never will. */
const ripeMs = 300_000

const addUse = `INSERT INTO usage_sum (begun, day, user_name, key_id, model, currency, requests, amount, input_tokens, output_tokens)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (begun, day, key_id, model, user_name, currency) DO UPDATE SET
  requests = usage_sum.requests + excluded.requests, amount = usage_sum.amount + excluded.amount,
  input_tokens = usage_sum.input_tokens + excluded.input_tokens, output_tokens = usage_sum.output_tokens + excluded.output_tokens`
const addSpent = `INSERT INTO spent_sum (hour, user_name, currency, amount) VALUES (?, ?, ?, ?)
  ON CONFLICT (hour, user_name, currency) DO UPDATE SET amount = spent_sum.amount + excluded.amount`
const moveOn = `INSERT INTO usage_chain (chain, position) VALUES (?, ?)
  ON CONFLICT (chain) DO UPDATE SET position = excluded.position`

/**
 * Adds up the next charges in segments, of one chain: by the day and the hour in which their requests began. How far a chain
 * has been added up is written with the sums, so none counts twice, and none is left out whenever it was committed.
 * @returns how many charges; 0 when there is nothing left to do
 */
export function* sumUp(at: number): QueryProgram<number> {
  // One at a time: others wait for this row.
  yield ask(`UPDATE meta SET value = value + 1 WHERE name = 'summed' RETURNING value`)
  const chains = yield ask(
    `SELECT c.id, c.position AS last, coalesce(u.position, 0) AS upto FROM chain c LEFT JOIN usage_chain u ON u.chain = c.id
     WHERE c.position > coalesce(u.position, 0)`,
  )
  for (const chain of chains) {
    const [id, from] = [text(chain, 'id'), whole(chain, 'upto')]
    const { booked, upto } = yield* readOn(id, from, whole(chain, 'last'), firstIdAt('req_', at - ripeMs))
    if (upto === from) continue
    yield ask(moveOn, id, upto)
    yield* add(booked.toSorted((a, b) => (a.id < b.id ? -1 : 1)))
    if (booked.length > 0) return booked.length
  }
  return 0
}

/** The next charges of a chain that are ripe, and the place up to which that is all of them. */
function* readOn(
  chain: string,
  from: number,
  last: number,
  ripe: string,
): QueryProgram<{ readonly booked: readonly Booked[]; readonly upto: number }> {
  const booked: Booked[] = []
  for (let upto = from; ; ) {
    const segments = yield ask(
      'SELECT chain, position, last_id, body FROM segment WHERE chain = ? AND position > ? ORDER BY position LIMIT ?',
      chain,
      upto,
      segmentsTogether,
    )
    for (const segment of segments) {
      if (booked.length >= chargesTogether || text(segment, 'last_id') >= ripe) return { booked, upto }
      for (const one of readSegment(segment)) booked.push(one)
      upto = whole(segment, 'position')
    }
    // What else there is up to its end is no segment.
    if (segments.length < segmentsTogether) return { booked, upto: last }
  }
}

function* add(booked: readonly Booked[]): QueryProgram<void> {
  const [first, last] = [booked[0], booked.at(-1)]
  if (!first || !last) return
  const [uses, spent] = [new Sums(), new Sums()]
  const counter = new Counter({ since: begunAt(first.id), until: begunAt(last.id) + 1 })
  for (const [one, counts] of yield* counter.count(booked)) {
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

/** Counts by what they are added up under. */
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
