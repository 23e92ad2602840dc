import { PictureDigest } from './picture-digest.ts'
import { RecordReader, type RecordVisitor } from '../read-records.ts'
import { AnswerReader, type MemoryClaim, writeHeld } from './answer-reader.ts'
import type { HeldPicture } from './picture-text.ts'
import type { PictureWriter } from './picture-writer.ts'
import type { AnswerReading, StreamReading } from './reading.ts'
import type { AnswerValues } from './values.ts'

const lastWords = '[DONE]'
const textCharsMax = 64

/** Reads a stream of events by the roles in its description, and writes each picture at the end of its event. */
export class EventReader implements RecordVisitor {
  readonly #reading: AnswerReading
  readonly #stream: StreamReading
  readonly #writer: PictureWriter
  readonly #claim: MemoryClaim
  readonly #records = new RecordReader(this)
  readonly values: AnswerValues
  readonly failed: string[] = []
  #record: AnswerReader | undefined
  /** The number of values and records in completed records. */
  #seen = 0
  #event = ''
  #text = ''
  #at = 0
  #partials = 0
  /** The pictures received so far, by their number in events, or by their bytes. */
  readonly #come = new Set<string>()
  /** A possible picture in an event that is not described to have one; it is dropped. */
  omitted: string | undefined
  /** Names of events without a role. */
  readonly #unknown = new Set<string>()

  constructor(reading: AnswerReading, writer: PictureWriter, claim: MemoryClaim, values: AnswerValues) {
    if (!reading.stream) throw reading.faults.undescribed('a stream of events')
    this.#reading = reading
    this.#stream = reading.stream
    this.#writer = writer
    this.#claim = claim
    this.values = values
  }

  /** The number of values and records read. */
  get seen(): number {
    return this.#seen + (this.#record?.seen ?? 0)
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
    const waits =
      this.#stream.kind === 'answers'
        ? ({ waits: 'with-room' } as const)
        : ({ waits: 'always', places: [this.#stream.place] } as const)
    return new AnswerReader(this.#reading, this.#writer, this.#claim, waits)
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
    this.#seen += 1 + (record?.seen ?? 0)
    if (!record) return
    record.end()
    for (const path of this.#reading.wanted) for (const value of record.values.of(path)) this.values.add(path, value)
    this.failed.push(...record.failed)
    this.omitted ??= record.omitted
    if (this.#stream.kind === 'events') this.#act(record, event, this.#stream)
    else this.#writeNew(record.held)
    record.free()
  }

  #act(record: AnswerReader, event: string, stream: Extract<StreamReading, { kind: 'events' }>): void {
    const type = record.values.first([stream.type]) ?? event
    const role = stream.roles.get(type) ?? stream.roles.get(event)
    if (role === 'image') this.#image(record, stream)
    else if (role === 'partial') for (const held of record.held) this.#partial(held.isLink ? [] : held.pieces)
    else if (role === 'failed') this.failed.push(this.#reason(record, stream))
    else if (role === 'error') throw this.#reading.faults.refused(this.#reason(record, stream), type)
    else if (role === undefined) {
      // A possible picture without a role would otherwise be free.
      if (record.held.length > 0) this.omitted ??= `a picture in an event '${type.slice(0, 60)}'`
      if (this.#unknown.size < 8) this.#unknown.add(type.slice(0, 60))
    }
  }

  /** An event with a number that was received before repeats that picture. */
  #image(record: AnswerReader, { index }: Extract<StreamReading, { kind: 'events' }>): void {
    const number = index === undefined ? undefined : record.values.last(index)
    if (number === undefined) return this.#writeNew(record.held)
    if (this.#come.has(number)) return
    this.#come.add(number)
    for (const held of record.held) writeHeld(this.#writer, held)
  }

  /** A picture without a number is a repetition if an earlier event had the same bytes. */
  #writeNew(all: readonly HeldPicture[]): void {
    const digests = all.map(digestOf)
    const isNew = digests.map(digest => !this.#come.has(digest))
    for (const [i, held] of all.entries()) if (isNew[i]) writeHeld(this.#writer, held)
    for (const digest of digests) this.#come.add(digest)
  }

  #partial(pieces: readonly Buffer[]): void {
    if (pieces.length > 0) this.#writer.partial(pieces, this.#partials++)
  }

  #reason(record: AnswerReader, { error }: Extract<StreamReading, { kind: 'events' }>): string {
    const own = error === undefined ? [] : [error, `${error}.message`]
    return record.values.first([...own, ...this.#reading.messages]) ?? 'a picture failed'
  }
}

function digestOf({ link, pieces }: HeldPicture): string {
  const digest = new PictureDigest()
  for (const piece of [Buffer.from(link), ...pieces]) digest.write(piece, 0, piece.length)
  return digest.end()
}
