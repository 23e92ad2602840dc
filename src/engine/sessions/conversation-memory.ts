import type { Json } from '../../domain/index.ts'

/** The maximum number of conversations on one connection, and of their bytes together. */
const keptMax = 16
const keptBytesMax = 8 * 1024 * 1024

/**
 * The conversations on one connection. A client that stores no responses still refers to the previous one by its id.
 * The upstream is called over HTTP and does not know that id, so the next request contains the conversation instead.
 */
export class ConversationMemory {
  readonly #kept = new Map<string, { readonly items: readonly Json[]; readonly bytes: number }>()
  #bytes = 0

  /** The conversation up to and including a response; undefined for an unknown id. */
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
