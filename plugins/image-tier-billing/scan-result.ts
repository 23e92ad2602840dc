import type { Size } from './tier.ts'

/** The number of last bytes of an image that are held until it is paid: without them a PNG or JPEG is incomplete. */
export const tailBytes = 4 * 1024
/** The maximum number of held bytes of a link, or between a link and the end of its element. */
export const linkBytesMax = 64 * 1024
/** The maximum bytes after an image in its event or object. */
export const afterImageBytesMax = 1024 * 1024

/** One complete returned image. */
export type FoundImage = {
  /** The number of images before it. */
  readonly index: number
  readonly kind: 'bytes' | 'link'
  /** Null for a link, and for bytes that are not a readable image. */
  readonly size: Size | null
  /** For bytes without a size: their type, or the problem with their header. */
  readonly unread?: readonly string[]
}

/**
 * The result of reading a piece. `out` may be passed on only after the charge of every image in `done` is durable;
 * until then it is held completely, and it is never delivered if that fails.
 */
export type ScanResult = { readonly out: Buffer[]; readonly done: readonly FoundImage[] }

/** Finds the images in an answer as it passes. */
export type Scanner = {
  /** @throws Unreadable, Unrecognised */
  write(chunk: Buffer): ScanResult
  /** Ends the answer. @throws Unreadable, Unrecognised */
  end(): ScanResult
  /** A description of the first omitted possible image so far; undefined if nothing was omitted. */
  readonly omitted: string | undefined
  /** Releases shared memory. Idempotent. */
  close?(): void
  /** Whether the output is neither stored nor read again (`Stage`). */
  readonly letsGo?: boolean
}

/** The answer is truncated or malformed, so nothing more of it may be delivered. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable'
}

const shapeCharsMax = 120

/**
 * The answer contains a possible image in an unknown place, or nothing known at all; nothing more of it may be
 * delivered. `shape` describes it for messages.
 */
export class Unrecognised extends Error {
  override readonly name = 'Unrecognised'
  readonly shape: string
  /** Whether it is not an answer and contains no possible image, so that nothing was bought. */
  readonly isNothing: boolean

  constructor(shape: string, isNothing = false) {
    const cut = readable(shape)
    super(cut)
    this.isNothing = isNothing
    this.shape = cut
  }
}

/** Makes an upstream's text safe: characters that would control a terminal are replaced. */
export function readable(shape: string): string {
  const clean = shape.replaceAll(/[^\x20-\x7e\xa0-\uffff]/g, '?')
  return clean.length > shapeCharsMax ? `${clean.slice(0, shapeCharsMax)}…` : clean
}
