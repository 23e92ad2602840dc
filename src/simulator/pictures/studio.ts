import { encodeJpeg } from './jpeg.ts'
import { createPace } from './pace.ts'
import type { Picture } from './picture.ts'
import { composePlain, encodePlainPng } from './plain.ts'
import { encodePng } from './png.ts'
import { composeScene } from './scene.ts'
import { encodeWebp } from './webp.ts'

/** Paints pictures, and caches them. */
export type Studio = { paint(picture: Picture): Promise<Buffer> }

/**
 * Paints one picture at a time, in short turns: several at once would make long turns.
 * @param keptBytesMax encoded bytes in the cache; the least recently used pictures are dropped first
 */
export function createStudio(keptBytesMax: number): Studio {
  const kept = new Map<string, Promise<Buffer>>()
  const sizes = new Map<string, number>()
  let keptBytes = 0
  let queue: Promise<unknown> = Promise.resolve()

  function remember(key: string, bytes: number): void {
    sizes.set(key, bytes)
    keptBytes += bytes
    for (const oldest of kept.keys()) {
      if (keptBytes <= keptBytesMax) return
      const size = sizes.get(oldest)
      // A picture without a size is still in the queue, and a request waits for it.
      if (size === undefined) continue
      keptBytes -= size
      sizes.delete(oldest)
      kept.delete(oldest)
    }
  }

  return {
    paint(picture) {
      const key = JSON.stringify(picture)
      const known = kept.get(key)
      if (known) {
        kept.delete(key)
        kept.set(key, known)
        return known
      }
      const painted = queue.then(() => encode(picture))
      queue = painted.catch(() => undefined)
      kept.set(key, painted)
      painted.then(
        bytes => remember(key, bytes.length),
        () => kept.delete(key),
      )
      return painted
    },
  }
}

function encode({ width, height, format, seed, detail, quality, plain }: Picture): Promise<Buffer> {
  if (plain && format === 'png') return encodePlainPng(width, height, seed)
  const paint = plain ? composePlain(height, seed) : composeScene(width, height, seed, detail)
  const pace = createPace()
  if (format === 'png') return encodePng(width, height, paint, pace)
  if (format === 'jpeg') return encodeJpeg(width, height, quality, paint, pace)
  return encodeWebp(width, height, paint, pace)
}
