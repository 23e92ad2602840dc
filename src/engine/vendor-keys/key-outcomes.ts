import { type KeyOutcome, type KeyOutcomes, keyOutcomes } from '../../domain/index.ts'
import type { Clock } from '../../util/index.ts'

/** The recent past: so many pieces of so long. */
const pieceMs = 5 * 60_000
const pieces = 12

type Piece = { readonly no: number; readonly counts: Map<KeyOutcome, number> }

/** The results of the requests that used a key: since the start, and in the last hour. */
export class OutcomeCounts {
  readonly #clock: Pick<Clock, 'tick'>
  readonly #all = new Map<KeyOutcome, number>()
  readonly #recent: Piece[] = []

  constructor(clock: Pick<Clock, 'tick'>) {
    this.#clock = clock
  }

  add(outcome: KeyOutcome): void {
    this.#all.set(outcome, (this.#all.get(outcome) ?? 0) + 1)
    const no = this.#now
    let piece = this.#recent.at(-1)
    if (piece?.no !== no) {
      piece = { no, counts: new Map() }
      this.#recent.push(piece)
      if (this.#recent.length > pieces) this.#recent.shift()
    }
    piece.counts.set(outcome, (piece.counts.get(outcome) ?? 0) + 1)
  }

  get #now(): number {
    return Math.floor(this.#clock.tick() / pieceMs)
  }

  get all(): KeyOutcomes {
    return sumOf([this.#all])
  }

  get lately(): KeyOutcomes {
    const first = this.#now - pieces + 1
    return sumOf(this.#recent.flatMap(({ no, counts }) => (no < first ? [] : counts)))
  }
}

function sumOf(all: readonly ReadonlyMap<KeyOutcome, number>[]): KeyOutcomes {
  const of = (outcome: KeyOutcome): number => all.reduce((sum, counts) => sum + (counts.get(outcome) ?? 0), 0)
  return Object.fromEntries(keyOutcomes.map(outcome => [outcome, of(outcome)])) as KeyOutcomes
}
