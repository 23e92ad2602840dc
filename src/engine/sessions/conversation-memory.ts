import type { Json } from '../../domain/index.ts'

/** Answers whose conversations are kept, and bytes of them all. */
const keptMax = 16
const keptBytesMax = 8 * 1024 * 1024

/**
 * Conversations that exist only on one connection: a client that has nothing stored names the answer before by its id, and an upstream
 * that is called by HTTP does not know that. What is kept goes with the next request.
 */
export class ConversationMemory {
  readonly #kept = new Map<string, { readonly items: readonly Json[]; readonly bytes: number }>()
  #bytes = 0

  /** The conversation up to an answer; undefined where it is not known here. */
  find(id: string): readonly Json[] | undefined {
    return this.#kept.get(id)?.items
  }

  keep(id: string, items: readonly Json[]): void {
    const bytes = JSON.stringify(items).length
    if (bytes > keptBytesMax || this.#kept.has(id)) return
    this.#kept.set(id, { items, bytes })
    this.#bytes += bytes
    for (const [oldest, one] of this.#kept) {
      if (this.#kept.size <= keptMax && this.#bytes <= keptBytesMax) return
      this.#kept.delete(oldest)
      this.#bytes -= one.bytes
    }
  }
}
