import { ImageHead } from './image-head.ts'
import { type FoundImage, tailBytes, Unreadable } from './scan-images.ts'
import type { JsonVisitor, JsonWalk } from './walk-json.ts'

const resultType = 'image_generation_call'
/** What may follow an image before its object ends. */
const afterImageBytesMax = 1024 * 1024

/**
 * Where an object stands that may be the result of a tool: in an answer that tells each once, in an event of its own, or
 * in the list of all results so far.
 */
export type Place = 'each' | 'event' | 'list' | undefined

/**
 * Finds the images that tools have made: a non-empty string `result` of an object of type `image_generation_call`, its
 * members in any order. It is known when the object ends; until then the end of the string is to be held.
 * An image is told again by an object of the same id, or where ids are missing by the same place in the list.
 */
export class ToolResults implements JsonVisitor {
  readonly #placeOf: (walk: JsonWalk) => Place
  readonly #seen = new Set<string>()
  #count = 0
  /** Images that came without an id. */
  #nameless = 0
  /** Images of the list so far. */
  #listed = 0
  #done: FoundImage[] = []
  #type = ''
  #id = ''
  #image: { readonly from: number; to: number | undefined; readonly head: ImageHead } | undefined

  constructor(placeOf: (walk: JsonWalk) => Place) {
    this.#placeOf = placeOf
  }

  /** A new text begins. */
  begin(): void {
    this.#listed = 0
    this.#forget()
  }

  /** The images since the last call. */
  take(): readonly FoundImage[] {
    const done = this.#done
    this.#done = []
    return done
  }

  /** Up to where bytes may go, of which the last stands before `end`. @throws Unreadable when too much would be held */
  safe(end: number): number {
    const image = this.#image
    if (!image) return end
    const safe = Math.max(image.from, (image.to ?? end) - tailBytes)
    if (end - safe > tailBytes + afterImageBytesMax) throw new Unreadable('the object of an image does not end')
    return safe
  }

  string(walk: JsonWalk, at: number): 'skip' | 'text' | 'bytes' {
    if (!this.#placeOf(walk)) return 'skip'
    const name = walk.names[walk.depth]
    if (name === 'type' || name === 'id') return 'text'
    if (name !== 'result') return 'skip'
    if (this.#image) throw new Unreadable('an object has two results')
    this.#image = { from: at + 1, to: undefined, head: new ImageHead({ link: false }) }
    return 'bytes'
  }

  bytes(piece: Buffer, from: number, to: number): void {
    if (this.#image && !this.#image.head.settled) this.#image.head.write(piece, from, to)
  }

  bytesEnd(at: number): void {
    if (this.#image?.from === at) this.#image = undefined
    else if (this.#image) this.#image.to = at
  }

  text(walk: JsonWalk, value: string): void {
    if (walk.names[walk.depth] === 'type') this.#type = value
    else this.#id = value
  }

  other(): boolean {
    return false
  }

  scalar(): void {}

  closed(walk: JsonWalk): void {
    const place = this.#placeOf(walk)
    if (!place) return
    if (this.#image && this.#type === resultType && !this.#isAgain(place)) {
      const measured = this.#image.head.end()
      const size = measured.kind === 'size' ? measured.size : null
      this.#done.push({ index: this.#count++, kind: 'bytes', size })
      if (this.#id === '') this.#nameless++
      else this.#seen.add(this.#id)
    }
    this.#forget()
  }

  #isAgain(place: Place): boolean {
    if (place === 'each') return false
    const at = place === 'list' ? this.#listed++ : this.#count
    if (this.#id !== '' && this.#seen.has(this.#id)) return true
    return at < this.#count && (this.#id === '' || this.#nameless > 0)
  }

  #forget(): void {
    this.#type = ''
    this.#id = ''
    this.#image = undefined
  }
}
