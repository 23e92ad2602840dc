import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type { CompiledConfig } from '../../domain/index.ts'

/** A text that is rendered once and sent often. The tag identifies its content, compressed or not. */
export type CachedText = { readonly plain: Buffer; readonly zipped: Buffer; readonly etag: string }

/** The maximum number of cached texts for a plan, so that requests with invented parameters use little memory. */
const keptMax = 16

/**
 * Caches texts rendered from a plan, by a key. Rendering the reference takes milliseconds, in which other requests
 * wait, and anyone may request it. With the cache they wait only once.
 */
export class TextCache {
  readonly #ofPlan = new WeakMap<CompiledConfig, Map<string, CachedText>>()

  take(plan: CompiledConfig, key: string, make: () => string): CachedText {
    let texts = this.#ofPlan.get(plan)
    if (!texts) this.#ofPlan.set(plan, (texts = new Map()))
    let kept = texts.get(key)
    if (!kept) {
      const plain = Buffer.from(make())
      const etag = `W/"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}"`
      kept = { plain, zipped: gzipSync(plain), etag }
      const [oldest] = texts.keys()
      if (texts.size >= keptMax && oldest !== undefined) texts.delete(oldest)
      texts.set(key, kept)
    }
    return kept
  }
}
