import type { Condition } from '../conditions.ts'
import type { Path } from '../paths.ts'

/** Where pictures are in an answer; all paths are from its top. */
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

/** What an event is, by its name. */
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

/** Makes the errors that a reader throws. */
export type ReadingFaults = {
  /** The answer breaks off or is bent. */
  unreadable(why: string, cause?: unknown): Error
  /** It is none that is described; `shape` says what it looks like, for people. */
  undescribed(shape: string): Error
  /** There is no memory left for what has to wait. */
  busy(): Error
  /** An event says no. */
  refused(message: string, code: string): Error
}

/** How the pictures of an answer are read. */
export type AnswerReading = {
  readonly places: readonly AnswerPlace[]
  /** Where an answer says what is wrong. */
  readonly messages: readonly Path[]
  readonly stream: StreamReading | undefined
  /** Of the answer these are read, by their paths. */
  readonly wanted: ReadonlySet<Path>
  readonly faults: ReadingFaults
}
