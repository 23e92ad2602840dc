import { RecordReader, type RecordVisitor } from '../../src/wire/index.ts'
import { AnswerReader, type Claim, writeHeld } from './answer-reader.ts'
import type { Reading, StreamReading } from './describe.ts'
import { undescribed } from './errors.ts'
import type { PictureWriter } from './picture-writer.ts'
import { Refused } from './refused.ts'
import type { Values } from './values.ts'

const lastWords = '[DONE]'
const textCharsMax = 64

/** Reads a stream of events by the roles that its description gives them, and writes each picture when its event is over. */
export class EventReader implements RecordVisitor {
  readonly #reading: Reading
  readonly #stream: StreamReading
  readonly #writer: PictureWriter
  readonly #claim: Claim
  readonly #records = new RecordReader(this)
  readonly values: Values
  readonly failed: string[] = []
  #record: AnswerReader | undefined
  #event = ''
  #text = ''
  #at = 0
  #partials = 0
  /** Which pictures have come, as their events number them. */
  readonly #indexes = new Set<string>()
  /** Names of events that no role is given. */
  readonly #unknown = new Set<string>()

  constructor(reading: Reading, writer: PictureWriter, claim: Claim, values: Values) {
    if (!reading.stream) throw undescribed('a stream of events')
    this.#reading = reading
    this.#stream = reading.stream
    this.#writer = writer
    this.#claim = claim
    this.values = values
  }

  get shape(): string {
    return `events ${[...this.#unknown].join(', ') || 'without a picture'}`
  }

  write(chunk: Buffer): void {
    this.#records.read(chunk, this.#at)
    this.#at += chunk.length
  }

  end(): void {
    this.#records.end(this.#at)
  }

  data(piece: Buffer): void {
    if (this.#text.length < textCharsMax) this.#text += piece.toString('latin1', 0, textCharsMax)
    if (lastWords.startsWith(this.#text.trim().slice(0, lastWords.length))) return
    this.#record ??= this.#open()
    this.#record.write(piece)
  }

  #open(): AnswerReader {
    const options = this.#stream.kind === 'answers' ? {} : { places: [this.#stream.place], holds: true }
    return new AnswerReader(this.#reading, this.#writer, this.#claim, options)
  }

  field(name: string, value: string): void {
    if (name === 'event') this.#event = value
  }

  recordEnd(): void {
    const record = this.#record
    const event = this.#event
    this.#record = undefined
    this.#event = ''
    this.#text = ''
    if (!record) return
    record.end()
    for (const path of this.#reading.wanted) for (const value of record.values.of(path)) this.values.add(path, value)
    this.failed.push(...record.failed)
    if (this.#stream.kind === 'events') this.#act(record, event, this.#stream)
  }

  #act(record: AnswerReader, event: string, stream: Extract<StreamReading, { kind: 'events' }>): void {
    const type = record.values.first([stream.type]) ?? event
    const role = stream.roles.get(type) ?? stream.roles.get(event)
    if (role === 'image') this.#image(record, stream)
    else if (role === 'partial') for (const held of record.held) this.#partial(held.isLink ? [] : held.pieces)
    else if (role === 'failed') this.failed.push(this.#reason(record, stream))
    else if (role === 'error') throw new Refused(this.#reason(record, stream), { status: 502, code: type })
    else if (role === undefined) {
      // What may be a picture and has no role would be given away, or lost.
      if (record.held.length > 0) throw undescribed(`a picture in an event '${type.slice(0, 60)}'`)
      if (this.#unknown.size < 8) this.#unknown.add(type.slice(0, 60))
    }
  }

  /** What comes once more under its number is that one again. */
  #image(record: AnswerReader, { index }: Extract<StreamReading, { kind: 'events' }>): void {
    const number = index === undefined ? undefined : record.values.last(index)
    if (number !== undefined && this.#indexes.has(number)) return
    if (number !== undefined) this.#indexes.add(number)
    for (const held of record.held) writeHeld(this.#writer, held)
  }

  #partial(pieces: readonly Buffer[]): void {
    if (pieces.length > 0) this.#writer.partial(pieces, this.#partials++)
  }

  #reason(record: AnswerReader, { error }: Extract<StreamReading, { kind: 'events' }>): string {
    const own = error === undefined ? [] : [error, `${error}.message`]
    return record.values.first([...own, ...this.#reading.messages]) ?? 'a picture failed'
  }
}
