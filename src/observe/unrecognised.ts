/** The number of stored shapes: more kinds of wrong responses are not expected. */
const keptMax = 20

/** An upstream's response that was not delivered in full, because its content was unknown. */
export type UnrecognisedAnswer = {
  readonly model: string
  readonly upstream: string
  readonly operation: string
  /** The unknown content, and its place. */
  readonly shape: string
}

/** The same, if it was reported more than once. */
export type UnrecognisedCount = UnrecognisedAnswer & {
  readonly count: number
  /** The time of the last one, ISO 8601. */
  readonly last: string
}

/** The unrecognised responses of one process, newest first. */
export class UnrecognisedAnswers {
  readonly #kept = new Map<string, UnrecognisedCount>()

  note(answer: UnrecognisedAnswer, at: number): void {
    const name = nameOf(answer)
    const before = this.#kept.get(name)?.count ?? 0
    this.#kept.delete(name)
    this.#kept.set(name, { ...answer, count: before + 1, last: new Date(at).toISOString() })
    if (this.#kept.size <= keptMax) return
    const [oldest] = this.#kept.keys()
    if (oldest !== undefined) this.#kept.delete(oldest)
  }

  list(): readonly UnrecognisedCount[] {
    return [...this.#kept.values()].toReversed()
  }
}

/** Those of several processes as one list, newest first. */
export function joinUnrecognised(lists: readonly (readonly UnrecognisedCount[])[]): readonly UnrecognisedCount[] {
  const joined = new Map<string, UnrecognisedCount>()
  for (const one of lists.flat()) {
    const before = joined.get(nameOf(one))
    const last = before && before.last > one.last ? before.last : one.last
    joined.set(nameOf(one), { ...one, count: one.count + (before?.count ?? 0), last })
  }
  return [...joined.values()].sort((a, b) => (a.last < b.last ? 1 : -1)).slice(0, keptMax)
}

function nameOf({ model, upstream, operation, shape }: UnrecognisedAnswer): string {
  return `${model}\n${upstream}\n${operation}\n${shape}`
}
