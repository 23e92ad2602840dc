import type { LogRow, UsageMatch, UsageRow } from '../../domain/index.ts'
import { findRows } from '../log-batches/find.ts'
import { LogWalk } from '../log-batches/walk.ts'
import type { QueryProgram } from '../query.ts'

export type Tokens = Pick<UsageRow, 'inputTokens' | 'outputTokens'>

/** Reads tokens of requests from the log, for readers of charges in the order of their ids. */
export class TokenWalk {
  readonly #walk: LogWalk
  #isOver = false
  #waiting: LogRow[] = []

  constructor(match: UsageMatch) {
    this.#walk = new LogWalk(match, 'oldest')
  }

  /** Tokens by request id, for ids after that of the last call, up to this one. */
  *upTo(id: string): QueryProgram<ReadonlyMap<string, Tokens>> {
    while (!this.#isOver && (this.#waiting.at(-1)?.id ?? '') <= id) {
      const some = yield* this.#walk.next()
      this.#isOver = some.length === 0
      for (const row of some) if (row.inputTokens !== null || row.outputTokens !== null) this.#waiting.push(row)
    }
    const found = new Map<string, Tokens>()
    for (const row of this.#waiting) if (row.id <= id) found.set(row.id, tokensOf(row))
    this.#waiting = this.#waiting.filter(row => row.id > id)
    return found
  }
}

/** Tokens of some requests by id, for sparse ids. */
export function* findTokens(ids: readonly string[]): QueryProgram<ReadonlyMap<string, Tokens>> {
  const rows = yield* findRows(ids, {}, 'skip')
  return new Map([...rows].map(([id, row]) => [id, tokensOf(row)]))
}

function tokensOf({ inputTokens, outputTokens }: LogRow): Tokens {
  return { inputTokens: inputTokens ?? 0, outputTokens: outputTokens ?? 0 }
}
