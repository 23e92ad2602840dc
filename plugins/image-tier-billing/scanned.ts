import type { Size } from './tier.ts'

/** What is held of an image until it is paid for: without it a PNG has no end, nor has a JPEG. */
export const tailBytes = 4 * 1024
/** The longest link, or stretch between a link and its element's end, that is held whole. */
export const linkBytesMax = 64 * 1024
/** What may follow an image in its event, or in its object. */
export const afterImageBytesMax = 1024 * 1024

/** One image that came back whole. */
export type FoundImage = {
  /** How many came before it. */
  readonly index: number
  readonly kind: 'bytes' | 'link'
  /** Null for a link, and for bytes that are no image that can be read. */
  readonly size: Size | null
  /** Of bytes without a size: what they are, or what is wrong with what they say. */
  readonly unread?: readonly string[]
}

/**
 * What a piece of the answer led to. `out` may be passed on only after the charge of every image in `done` is durable;
 * until then it is to be held whole, and for ever when that fails.
 */
export type Scanned = { readonly out: Buffer[]; readonly done: readonly FoundImage[] }

/** What finds the images in an answer as it passes. */
export type Scanner = {
  /** @throws Unreadable, Unrecognised */
  write(chunk: Buffer): Scanned
  /** The answer is complete. @throws Unreadable, Unrecognised */
  end(): Scanned
  /** What was left out so far and may be an image; undefined where nothing was. */
  readonly omitted: string | undefined
  /** Gives back what was taken of memory that all share. Idempotent. */
  close?(): void
  /** Nothing of what went out is kept or read again (`Stage`). */
  readonly letsGo?: boolean
}

/** The answer breaks off or is bent, and nothing more of it may go out. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable'
}

const shapeCharsMax = 120

/**
 * The answer holds something that may be an image, at a place where none is known to stand, or nothing that is known at all:
 * nothing more of it may go out. `shape` says what was seen, for people.
 */
export class Unrecognised extends Error {
  override readonly name = 'Unrecognised'
  readonly shape: string
  /** It is no answer, and holds nothing that may be an image: nothing was bought. */
  readonly isNothing: boolean

  constructor(shape: string, isNothing = false) {
    const cut = readable(shape)
    super(cut)
    this.isNothing = isNothing
    this.shape = cut
  }
}

/** An upstream's own words: what would move a terminal's cursor is shown, and not done. */
export function readable(shape: string): string {
  const clean = shape.replaceAll(/[^\x20-\x7e\xa0-\uffff]/g, '?')
  return clean.length > shapeCharsMax ? `${clean.slice(0, shapeCharsMax)}…` : clean
}
