import { createHash } from 'node:crypto'

export type PictureFormat = 'png' | 'jpeg' | 'webp'

/** The progress of a picture: the number of ranges of hills, of three, that are drawn. */
export type Detail = 0 | 1 | 2 | 3

/** The recipe of a picture: the same recipe always gives the same bytes. */
export type Picture = {
  /** Pixels. */
  readonly width: number
  readonly height: number
  readonly format: PictureFormat
  /** From `seedOf`. */
  readonly seed: string
  readonly detail: Detail
  /** JPEG quality, 1 to 100; the other formats are lossless. */
  readonly quality: number
  /** Two colours instead of a landscape, for a fraction of the CPU time. */
  readonly plain?: true
}

export const mediaTypes: { readonly [format in PictureFormat]: string } = {
  png: 'image/png',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
}

/** Derives the look of a picture from the request. Returns 64 hex characters. */
export function seedOf(...parts: readonly (string | number | Uint8Array)[]): string {
  const hash = createHash('sha256')
  for (const part of parts) {
    const bytes = part instanceof Uint8Array ? part : Buffer.from(String(part))
    hash.update(`${bytes.length}:`).update(bytes)
  }
  return hash.digest('hex')
}
