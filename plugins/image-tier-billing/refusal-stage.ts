import type { Passed, Stage } from '../../src/plugin-api/index.ts'
import { type JsonVisitor, JsonWalk } from '../../src/wire/index.ts'
import type { ImageCharge } from './image-charge.ts'
import { findBase64, findPicture, unescapeText } from './detect-picture.ts'
import { linksOfLinkOnlyText } from './link-only-text.ts'
import { measure } from './measure.ts'
import { holdsSentences } from './remainder.ts'
import { ImageScanner } from './scan-images.ts'
import { Unreadable, Unrecognised } from './scan-result.ts'

/** The maximum size of a refusal. */
const refusalBytesMax = 64 * 1024
const none: readonly Buffer[] = []

/**
 * Holds an answer until its end if its status reports that nothing was created, and delivers it unless it contains an
 * image.
 */
export class RefusalStage implements Stage {
  readonly #charge: ImageCharge
  readonly #status: number
  #held: Buffer[] = []
  #length = 0

  constructor(charge: ImageCharge, status: number) {
    this.#charge = charge
    this.#status = status
  }

  /** @throws Failure `upstream_answer_unrecognised` if it is longer than any refusal */
  write(chunk: Buffer): Passed {
    this.#held.push(chunk)
    this.#length += chunk.length
    if (this.#length > refusalBytesMax) throw this.#found(`more than ${refusalBytesMax / 1024} KiB`)
    return none
  }

  /** @throws Failure `upstream_answer_unrecognised` if it contains an image */
  end(): Passed {
    const held = this.#held
    this.#held = []
    const seen = findImage(Buffer.concat(held, this.#length))
    if (seen !== undefined) throw this.#found(seen)
    return held
  }

  close(): void {
    this.#held = []
  }

  #found(seen: string): Error {
    return this.#charge.unrecognised(`status ${this.#status}, and ${seen}`)
  }
}

/** Describes a possible image in an answer; pages and sentences may contain links. */
function findImage(answer: Buffer): string | undefined {
  if (answer.length === 0) return undefined
  if (measure(answer).mime !== null && !/^\s*</.test(answer.toString('latin1', 0, 64))) return 'a picture'
  const text = answer.toString('latin1')
  const seen = findPicture(text, true) ?? findBase64(text)
  return seen ?? findLink(answer) ?? findListed(answer)
}

/** Describes a message that consists of a link, which may lead to an image. */
function findLink(answer: Buffer): string | undefined {
  const messages = new Messages()
  const walk = new JsonWalk(messages)
  walk.walk(answer, 0)
  if (walk.foreign) return linksOfLinkOnlyText(answer.toString()).length > 0 ? 'nothing but a link' : undefined
  return messages.found
}

/** Reads the messages of a refusal. */
class Messages implements JsonVisitor {
  readonly loose = true
  found: string | undefined
  #pieces: Buffer[] = []

  string({ name }: JsonWalk): 'bytes' | 'skip' {
    return name === 'error' || holdsSentences(name) ? 'bytes' : 'skip'
  }

  bytes(piece: Buffer, from: number, to: number): void {
    this.#pieces.push(piece.subarray(from, to))
  }

  bytesEnd(walk: JsonWalk): void {
    const text = unescapeText(Buffer.concat(this.#pieces))
    this.#pieces = []
    if (linksOfLinkOnlyText(text).length > 0) this.found ??= `${walk.path()} that is nothing but a link`
  }
}

/** Describes an image at the known places. */
function findListed(answer: Buffer): string | undefined {
  const scanner = new ImageScanner()
  try {
    scanner.write(answer)
    scanner.end()
  } catch (error) {
    if (!(error instanceof Unreadable || error instanceof Unrecognised)) throw error
  }
  return scanner.count > 0 ? `${scanner.count} images` : undefined
}
