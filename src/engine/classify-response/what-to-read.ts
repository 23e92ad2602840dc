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
}

/**
 * How much of an answer has to be read to classify it: for an error status, for one that may still be an error, and for
 * one whose form is not known yet. Undefined if the bytes that came with the head are enough.
 */
export function kindToRead(head: AnswerHead, { hasKey, call, formOf }: ReadingNeeds): Kind | undefined {
  if (head.status >= 400) return hasKey ? 'refusal' : undefined
  if (!call || head.codings.length > 0) return undefined
  // The bytes that came with the head are usually enough, and then nothing is waited for.
  const { early = [] } = call
  const kind = kindOf(head)
  if (kind === 'events') return beginsWithAnswer(early, formOf) ? undefined : 'events'
  // Vendors send errors with a wrong type, or with none.
  const [first] = early
  if (first === undefined ? kind === 'json' : mayBeError(first)) return 'json'
  return formOf(joined(early)) === undefined ? 'form' : undefined
}

function beginsWithAnswer(events: readonly Buffer[], formOf: FormOf): boolean {
  if (events.length === 0) return false
  const words = new FirstEventReader('events', undefined, formOf)
  return events.some(chunk => words.add(chunk)) && words.inside() === undefined
}
