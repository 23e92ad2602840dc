import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { CompiledConfig } from '../../domain/index.ts'
import { type Awaitable, onceFor } from '../../util/index.ts'

const zip = promisify(gzip)

/** A text that is rendered once and sent often. The tag identifies its content, compressed or not. */
export type CachedText = { readonly plain: Buffer; readonly zipped: Buffer; readonly etag: string }

/** The maximum number of cached texts for a plan, so that requests with invented parameters use little memory. */
const keptMax = 16

/** Caches texts rendered from a plan, by a key: anyone may request them, and rendering them takes long. */
export class TextCache {
  readonly #ofPlan = new WeakMap<CompiledConfig, Map<string, Promise<CachedText>>>()

  take(plan: CompiledConfig, key: string, make: () => Awaitable<string>): Promise<CachedText> {
    let texts = this.#ofPlan.get(plan)
    if (!texts) this.#ofPlan.set(plan, (texts = new Map()))
    const [oldest] = texts.keys()
    if (texts.size >= keptMax && oldest !== undefined && !texts.has(key)) texts.delete(oldest)
    return onceFor(texts, key, () => pack(make))
  }
}

async function pack(make: () => Awaitable<string>): Promise<CachedText> {
  const plain = Buffer.from(await make())
  const etag = `W/"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}"`
  return { plain, zipped: await zip(plain), etag }
}
