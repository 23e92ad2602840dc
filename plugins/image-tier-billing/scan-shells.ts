import { type ByteBudget, fieldCharsMax, Holdback, type JsonVisitor, JsonWalk } from '../../src/wire/index.ts'
import { refuseNonJson } from './non-json-answer.ts'
import { problemOfLine } from './check-event-line.ts'
import { Omission } from './omission.ts'
import { Unreadable, Unrecognised } from './scan-result.ts'
import { HeldRecord } from './held-record.ts'

/** Markers with which some vendors end a stream. */
const lastWords = '[DONE]'

/** An answer that is one JSON object: it is held back as it passes, walked, and cut at its end. */
export class JsonShell<Visitor extends JsonVisitor = JsonVisitor> {
  readonly holdback = new Holdback()
  readonly omission = new Omission(this.holdback)
  readonly visitor: Visitor
  readonly walk: JsonWalk
  readonly #endUnknown: boolean

  /** With `endUnknown`, only closed JSON proves that the answer is complete. */
  constructor(visitorOf: (omission: Omission) => Visitor, endUnknown: boolean) {
    this.visitor = visitorOf(this.omission)
    this.walk = new JsonWalk(this.visitor)
    this.#endUnknown = endUnknown
  }

  /**
   * Reads a chunk. @returns whether it is JSON so far; any other answer is held until its end and judged then
   * @throws Unreadable if some of it was delivered; Unrecognised
   */
  read(chunk: Buffer, hasGone: boolean): boolean {
    const base = this.holdback.end
    this.holdback.push(chunk)
    this.omission.base = base
    this.walk.walk(chunk, base)
    const { fault, foreign } = this.walk
    if (fault !== undefined) throw new Unreadable(fault)
    if (!foreign) return true
    if (hasGone) throw new Unreadable('it is not JSON')
    refuseNonJson(this.holdback, false)
    return false
  }

  /** Omits the text after the answer. @throws Unrecognised if the answer has no picture */
  cut(count: number): void {
    const shape = 'data after the JSON object'
    if (count === 0) throw new Unrecognised(shape)
    this.omission.rest(this.walk.followedAt, this.holdback.end, shape)
  }

  /** Ends the answer. @throws Unreadable if it is incomplete; Unrecognised */
  end(): void {
    if (this.walk.foreign) refuseNonJson(this.holdback, true)
    this.checkWhole()
    if (!this.walk.complete) refuseNonJson(this.holdback, true)
  }

  /** @throws Unreadable if the answer is incomplete */
  checkWhole(): void {
    if (this.walk.open) throw new Unreadable('it ends before its JSON does')
    if (this.#endUnknown && !this.walk.complete) throw new Unreadable('nothing says whether it is whole')
  }
}

/**
 * An event stream whose records are JSON objects. Each record is held completely until it ends, as far as the budget
 * allows.
 */
export class EventShell<Visitor extends JsonVisitor = JsonVisitor> {
  readonly holdback = new Holdback()
  readonly omission = new Omission(this.holdback)
  readonly whole: HeldRecord
  readonly visitor: Visitor
  walk: JsonWalk
  /** The reason why the record is not delivered. */
  flaw: string | undefined
  /** The data, if it is not an object. */
  #text = ''

  constructor(visitorOf: (omission: Omission) => Visitor, budget: ByteBudget) {
    this.whole = new HeldRecord(budget)
    this.visitor = visitorOf(this.omission)
    this.walk = new JsonWalk(this.visitor)
  }

  /** Reads a piece of a record's data. @returns its end; undefined for a record that is not delivered */
  data(piece: Buffer, base: number): number | undefined {
    if (this.flaw !== undefined) return undefined
    this.omission.base = base
    this.walk.walk(piece, base)
    if (this.walk.foreign && this.#text.length <= fieldCharsMax)
      this.#text += piece.toString('latin1', 0, fieldCharsMax + 1)
    const { fault, followed } = this.walk
    if (fault !== undefined) throw new Unreadable(fault)
    const end = base + piece.length
    if (followed) this.omission.rest(this.walk.followedAt, end, 'data after the JSON object of an event')
    return end
  }

  /** Reads another field. @returns whether it is valid; an invalid one is omitted @throws Unrecognised */
  field(name: string, value: string, from: number, to: number): boolean {
    const flaw = problemOfLine(name, value)
    if (flaw === undefined) return true
    if (!this.whole.isBorne) throw new Unrecognised(flaw)
    this.omission.comment(from, to, flaw)
    return false
  }

  /**
   * Marks the record as unknown: none of it is delivered.
   * @throws Unrecognised if some of it was delivered for lack of memory to hold it
   */
  refuse(shape: string): void {
    if (!this.whole.isBorne) throw new Unrecognised(shape)
    this.flaw ??= shape
  }

  /** Ends the record. @returns whether it is JSON, or the end of the stream @throws Unreadable, Unrecognised */
  recordRead(): boolean {
    if (this.flaw !== undefined) return false
    if (this.walk.foreign && (this.#text.length > fieldCharsMax || this.#text.trim() !== lastWords)) {
      this.refuse('an event whose data is no JSON object')
      return false
    }
    if (this.walk.open) throw new Unreadable('an event ends before its JSON does')
    return true
  }

  /** Begins the next record. */
  renew(): void {
    this.whole.renew()
    this.walk = new JsonWalk(this.visitor)
    this.#text = ''
    this.flaw = undefined
  }
}
