import { Holdback } from './holdback.ts'
import type { Allowance } from './scan-events.ts'
import { type FoundImage, type Scanned, Unreadable } from './scan-images.ts'
import { type Place, ToolResults } from './tool-results.ts'
import { JsonWalk } from './walk-json.ts'

const lineFeed = 0x0a
const carriageReturn = 0x0d
const colon = 0x3a
const space = 0x20
/** `response`, `output`, its list, an object of it. */
const deep = 4
const dataName = 'data'

/**
 * Finds the images that tools have made in an event stream as it passes: of `item`, and of `response.output`, where only
 * those count that no event brought before. Every record is held whole up to the blank line that ends it, before which no
 * reader of events could use it, until its images are committed. When the allowance for whole records is used up, all but
 * an image's last 4 KiB and what follows passes. Previews have no `result` and are never billed.
 */
export class ToolEventScanner {
  readonly #allowance: Allowance
  readonly #holdback = new Holdback()
  readonly #results = new ToolResults(placeOf)
  #walk = new JsonWalk(this.#results, deep)
  #done: FoundImage[] = []
  /** The name of the line's field; undefined once it is over. */
  #name: string | undefined = ''
  #isData = false
  /** A blank may follow the colon. */
  #blank = false
  #lineIsEmpty = true
  #skipLineFeed = false
  /** Where the record begins. */
  #from = 0
  /** Bytes of this record that the allowance bears; undefined once it did not. */
  #borne: number | undefined = 0

  constructor(allowance: Allowance) {
    this.#allowance = allowance
  }

  /** @throws Unreadable when a record is no JSON. */
  write(chunk: Buffer): Scanned {
    const base = this.#holdback.end
    this.#holdback.push(chunk)
    this.#read(chunk, base)
    const out = this.#holdback.release(this.#safe())
    // Of a record that is held whole nothing is charged before it can go.
    if (this.#borne === undefined) this.#done.push(...this.#results.take())
    return { out, done: this.#take() }
  }

  /** The stream is complete. A last record without its blank line counts, since some readers take it. */
  end(): Scanned {
    this.#dispatch(this.#holdback.end)
    return { out: this.#holdback.release(this.#holdback.end), done: this.#take() }
  }

  /** The stream was given up: what it was borne for is free again. Idempotent. */
  close(): void {
    this.#allowance.give(this.#borne ?? 0)
    this.#borne = undefined
  }

  #take(): readonly FoundImage[] {
    const done = this.#done
    this.#done = []
    return done
  }

  /** Up to where the stream may go on. */
  #safe(): number {
    const { end } = this.#holdback
    if (this.#borne !== undefined) {
      const more = end - this.#from - this.#borne
      if (this.#allowance.take(more)) {
        this.#borne += more
        return this.#from
      }
      this.close()
    }
    return this.#results.safe(end)
  }

  /** Lines as the standard has them: ended by LF, CR or both, split anywhere (HTML 9.2). */
  #read(chunk: Buffer, base: number): void {
    for (let at = 0; at < chunk.length; ) {
      if (this.#skipLineFeed) {
        this.#skipLineFeed = false
        if (chunk[at] === lineFeed) {
          at++
          if (this.#from === base + at - 1) this.#from++
          continue
        }
      }
      const to = lineEnd(chunk, at)
      if (to > at) this.#part(chunk, base, at, to)
      if (to === chunk.length) return
      this.#skipLineFeed = chunk[to] === carriageReturn
      at = to + 1
      if (this.#lineIsEmpty) this.#dispatch(base + at)
      this.#name = ''
      this.#isData = false
      this.#blank = false
      this.#lineIsEmpty = true
    }
  }

  /** A stretch of one line. */
  #part(chunk: Buffer, base: number, from: number, to: number): void {
    this.#lineIsEmpty = false
    let at = from
    while (at < to && this.#name !== undefined) {
      const byte = chunk[at++] as number
      if (byte === colon) {
        this.#isData = this.#name === dataName
        this.#blank = true
        this.#name = undefined
        // A byte order mark may stand at the very beginning.
      } else if (byte !== 0xef && byte !== 0xbb && byte !== 0xbf) {
        this.#name = this.#name.length < dataName.length + 1 ? this.#name + String.fromCharCode(byte) : this.#name
      }
    }
    if (at < to && this.#blank) {
      this.#blank = false
      if (chunk[at] === space) at++
    }
    if (!this.#isData || at >= to) return
    this.#walk.walk(chunk.subarray(at, to), base + at)
    if (this.#walk.fault !== undefined) throw new Unreadable(this.#walk.fault)
  }

  /** The record is over; the next begins at `next`. */
  #dispatch(next: number): void {
    const { foreign, complete, depth } = this.#walk
    if (!foreign && !complete && depth > 0) throw new Unreadable('an event ends before its JSON does')
    this.#done.push(...this.#results.take())
    this.close()
    this.#borne = 0
    this.#from = next
    this.#results.begin()
    this.#walk = new JsonWalk(this.#results, deep)
  }
}

/** The first LF or CR from `at`, or the chunk's length. */
function lineEnd(chunk: Buffer, at: number): number {
  const feed = chunk.indexOf(lineFeed, at)
  const until = feed === -1 ? chunk.length : feed
  const carriage = chunk.subarray(at, until).indexOf(carriageReturn)
  return carriage === -1 ? until : at + carriage
}

function placeOf({ depth, objects, names }: JsonWalk): Place {
  if (!objects[1] || !objects[2] || !objects[depth]) return undefined
  if (depth === 2) return names[1] === 'item' ? 'event' : undefined
  if (depth !== deep || objects[3]) return undefined
  return names[1] === 'response' && names[2] === 'output' ? 'list' : undefined
}
