import type { Condition } from '../conditions.ts'
import type { Path } from '../paths.ts'

/** The place of pictures in an answer; all paths begin at its top. */
export type AnswerPlace = {
  readonly at: Path
  readonly pictures: readonly Path[]
  readonly bytes: boolean
  readonly size: readonly Path[]
  readonly skip: readonly Condition[]
  readonly keep: readonly Condition[]
  readonly error: Path | undefined
  readonly texts: readonly (readonly [name: string, path: Path])[]
}

/** The role of an event, by its name. */
export type EventRole = 'partial' | 'image' | 'failed' | 'done' | 'error' | 'ignore'

export type StreamReading =
  | { readonly kind: 'answers' }
  | {
      readonly kind: 'events'
      readonly type: Path
      readonly roles: ReadonlyMap<string, EventRole>
      readonly place: AnswerPlace
      readonly error: Path | undefined
      readonly index: Path | undefined
    }

/** Creates the errors that a reader throws. */
export type ReadingFaults = {
  /** The answer is truncated or invalid. */
  unreadable(why: string, cause?: unknown): Error
  /** The answer has no described form; `shape` is its structure, for messages. */
  undescribed(shape: string): Error
  /** There is no memory left to hold a picture. */
  busy(): Error
  /** An event reports an error. */
  refused(message: string, code: string): Error
}

/** How to read the pictures of an answer. */
export type AnswerReading = {
  readonly places: readonly AnswerPlace[]
  /** The paths of the error message in an answer. */
  readonly messages: readonly Path[]
  readonly stream: StreamReading | undefined
  /** The paths of the values to collect. */
  readonly wanted: ReadonlySet<Path>
  readonly faults: ReadingFaults
}
