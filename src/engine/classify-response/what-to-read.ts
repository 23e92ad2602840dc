import { joined } from '../../wire/index.ts'
import type { AnswerHead, Call } from '../call-request.ts'
import { FirstEventReader, type FormOf, type Kind, kindOf } from './first-event-error.ts'
import { mayBeError } from './may-be-error.ts'

/** What is known before an answer is read. */
export type ReadingNeeds = {
  readonly hasKey: boolean
  /**
   * The source of its first bytes; absent if several requests make the answer, each of which is classified by itself.
   */
  readonly call: Call | undefined
  readonly formOf: FormOf
  /** JSON is no answer: it is an error, or of another form than requested. */
  readonly wantsEvents: boolean
}

/**
 * How much of an answer has to be read to classify it: for an error status, for one that may still be an error, and for
 * one whose form is not known yet. Undefined if the bytes that came with the head are enough.
 */
export function kindToRead(head: AnswerHead, { hasKey, call, formOf, wantsEvents }: ReadingNeeds): Kind | undefined {
  if (head.status >= 400) return hasKey ? 'refusal' : undefined
  if (!call || head.codings.length > 0) return undefined
  // The bytes that came with the head are usually enough; then nothing is waited for.
  const { early = [] } = call
  const kind = kindOf(head)
  if (kind === 'events') return beginsWithAnswer(early, formOf) ? undefined : 'events'
  // For an upstream without keys only streams are read for errors.
  const isJson = kind === 'json' && (hasKey || wantsEvents)
  if (isJson && mayBeErrorAfter(early)) return 'json'
  if (formOf(joined(early)) !== undefined) return undefined
  return isJson ? 'json' : 'form'
}

function mayBeErrorAfter([first]: readonly Buffer[]): boolean {
  return first === undefined || mayBeError(first)
}

function beginsWithAnswer(events: readonly Buffer[], formOf: FormOf): boolean {
  if (events.length === 0) return false
  const words = new FirstEventReader('events', undefined, formOf)
  return events.some(chunk => words.add(chunk)) && words.inside() === undefined
}
