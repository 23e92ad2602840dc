import type { Pixels } from '../pictures/measure.ts'
import { pngChunk } from '../pictures/png.ts'

/** Parses `1024x1024`, with the vendor's separator; undefined if the text is not a size. */
export function parseSize(size: string, separator = 'x'): Pixels | undefined {
  const [width, height, ...rest] = size.split(separator)
  if (rest.length > 0 || !/^\d{1,5}$/.test(width ?? '') || !/^\d{1,5}$/.test(height ?? '')) return undefined
  return { width: Number(width), height: Number(height) }
}

/** The sides of a ratio for a given area, each a multiple of `step`. */
export function shapeAt(ratio: string, area: number, step: number, separator = ':'): Pixels {
  const [across = 1, down = 1] = ratio.split(separator).map(Number)
  const round = (side: number) => Math.max(step, Math.round(side / step) * step)
  return { width: round(Math.sqrt((area * across) / down)), height: round(Math.sqrt((area * down) / across)) }
}

/** The same pixels of a PNG in different bytes. */
export function withNote(png: Buffer): Buffer {
  const end = png.length - 12
  return Buffer.concat([
    png.subarray(0, end),
    pngChunk('tEXt', Buffer.from('Note\0again', 'latin1')),
    png.subarray(end),
  ])
}

export function megapixels({ width, height }: Pixels): number {
  return (width * height) / 1_000_000
}

export function seconds(ms: number): number {
  return Math.floor(ms / 1000)
}
