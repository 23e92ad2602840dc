import { createResponseMetadata, type Passed, type Stage } from '../../src/plugin-api/index.ts'
import {
  AnswerReader,
  type AnswerReading,
  AnswerValues,
  type ByteBudget,
  ByteClaim,
  compilePlace,
  EventReader,
  type EventRole,
  normalPath,
  PictureWriter,
  type ReadingFaults,
  skipBlanks,
} from '../../src/wire/index.ts'
import { hasNoImage } from './non-json-answer.ts'
import { linksOfLinkOnlyText } from './link-only-text.ts'
import { Unreadable, Unrecognised } from './scan-result.ts'

/** The answer reports that there is no image. */
export class ImageRefused extends Error {
  override readonly name = 'ImageRefused'
}

const faults: ReadingFaults = {
  unreadable: why => new Unreadable(why),
  undescribed: shape => new Unrecognised(shape),
  busy: () => new Unreadable('too many answers are held in memory at once'),
  refused,
}

/** The error for a message without an image. A message that consists of a link may lead to an image. */
function refused(message: string): ImageRefused | Unrecognised {
  return linksOfLinkOnlyText(message).length > 0
    ? new Unrecognised('a message that is nothing but a link')
    : new ImageRefused(message)
}

/** Members with facts about all images of an answer, in one body or in each event. */
const texts = ['background', 'output_format', 'quality', 'size'].map(normalPath)
const counts = ['total_tokens', 'input_tokens', 'output_tokens']
const details = ['input_tokens_details', 'output_tokens_details']
const detailCounts = ['text_tokens', 'image_tokens', 'cached_tokens', 'audio_tokens']
const usageNames = [...counts, ...details.flatMap(detail => detailCounts.map(count => `${detail}.${count}`))]
const created = normalPath('created')
const messages = ['error.message', 'error', 'message'].map(normalPath)

const kinds = ['image_generation', 'image_edit']
const roles: ReadonlyMap<string, EventRole> = new Map([
  ...kinds.flatMap((kind): [string, EventRole][] => [
    [`${kind}.completed`, 'image'],
    [`${kind}.partial_image`, 'partial'],
  ]),
  ['error', 'error'],
])

const picture = { picture: ['b64_json', 'url'], text: { revised_prompt: 'revised_prompt' } }

const reading: AnswerReading = {
  places: [compilePlace({ at: 'data', ...picture })],
  messages,
  stream: {
    kind: 'events',
    type: normalPath('type'),
    roles,
    place: compilePlace(picture),
    error: normalPath('error'),
    index: normalPath('index'),
  },
  wanted: new Set([
    ...texts,
    ...usageNames.map(name => normalPath(`usage.${name}`)),
    created,
    ...messages,
    ...['created_at', 'type', 'index', 'revised_prompt', 'data.revised_prompt', 'error.code'].map(normalPath),
  ]),
  faults,
}

type Turning = {
  /** Whether a stream arrived; the other kind is written. */
  readonly isStream: boolean
  /** Name of the events that contain an image. */
  readonly event: string
  /** Seconds since the epoch. */
  readonly created: number
  /** Shared memory, for one event at a time. */
  readonly budget: ByteBudget
  /** Converts an exception of a reader to a failure. */
  readonly onFault: (cause: unknown) => unknown
  /** Called for a possible image that is not delivered. */
  readonly onOmitted: (shape: string) => void
}

/**
 * Converts an answer to the requested kind: a JSON answer to events as it passes, or events to one JSON answer,
 * holding one event at a time. Previews are omitted from the latter.
 */
export class TranslatedAnswer implements Stage {
  readonly letsGo = true
  readonly #isStream: boolean
  readonly #created: number
  readonly #writer: PictureWriter
  readonly #values = new AnswerValues()
  readonly #reader: AnswerReader | EventReader
  readonly #claim: ByteClaim
  readonly #onFault: (cause: unknown) => unknown
  readonly #onOmitted: (shape: string) => void
  /** Whether only blanks have arrived. */
  #isEmpty = true

  constructor({ isStream, event, created, budget, onFault, onOmitted }: Turning) {
    this.#onOmitted = onOmitted
    this.#isStream = isStream
    this.#created = created
    this.#onFault = onFault
    this.#claim = new ByteClaim(budget)
    this.#writer = new PictureWriter(createResponseMetadata(), {
      created,
      event: isStream ? undefined : event,
      waits: true,
    })
    const claim = {
      take: (bytes: number): boolean => this.#claim.hold(this.#claim.bytes + bytes),
      give: (bytes: number): boolean => this.#claim.hold(this.#claim.bytes - bytes),
    }
    this.#reader = isStream
      ? new EventReader(reading, this.#writer, claim, this.#values)
      : new AnswerReader(reading, this.#writer, claim)
  }

  write(chunk: Buffer): Passed {
    this.#isEmpty &&= skipBlanks(chunk) === chunk.length
    return this.#read(() => this.#reader.write(chunk))
  }

  end(): Passed {
    const last = this.#read(() => {
      this.#endReader()
      const values = this.#reader.values
      if (this.#writer.count === 0) this.#refuse(values)
      if (this.#reader.omitted !== undefined) this.#onOmitted(this.#reader.omitted)
      const facts = { usage: usageOf(values), words: this.#words(values) }
      this.#writer.settle(facts)
      this.#writer.finish(facts)
    })
    this.close()
    return last
  }

  /** Releases its memory. Idempotent. */
  close(): void {
    this.#claim.free()
  }

  #read(read: () => void): Passed {
    try {
      read()
    } catch (cause) {
      this.close()
      throw this.#onFault(cause)
    }
    return this.#writer.take() as Buffer[]
  }

  /** @throws Unrecognised, Unreadable */
  #endReader(): void {
    if (this.#isEmpty) throw new Unrecognised('an empty answer', true)
    try {
      this.#reader.end()
    } catch (cause) {
      const foreign = this.#reader instanceof AnswerReader ? this.#reader.foreign : undefined
      if (foreign === undefined || !(cause instanceof Unrecognised)) throw cause
      throw new Unrecognised(cause.shape, hasNoImage(foreign))
    }
  }

  /** @throws ImageRefused, Unrecognised */
  #refuse(values: AnswerValues): never {
    const { omitted } = this.#reader
    if (omitted !== undefined) throw new Unrecognised(omitted)
    const message = values.first(messages)
    if (message !== undefined) throw refused(message)
    throw new Unrecognised(`no image; ${this.#reader.shape}`)
  }

  #words(values: AnswerValues): ReadonlyMap<string, string | number> {
    const words = new Map<string, string | number>()
    for (const path of texts) {
      const text = values.last(path)
      if (text !== undefined) words.set(path, text)
    }
    const when = Number(values.last(created))
    if (!this.#isStream) words.set('created_at', Number.isSafeInteger(when) && when > 0 ? when : this.#created)
    return words
  }
}

/** Token counts by name, with dots between nested names. */
function usageOf(values: AnswerValues): { readonly [name: string]: number } | undefined {
  const counted = usageNames.flatMap(name => {
    const count = Number(values.last(normalPath(`usage.${name}`)))
    return Number.isFinite(count) ? [[name, count] as const] : []
  })
  return counted.length === 0 ? undefined : Object.fromEntries(counted)
}
