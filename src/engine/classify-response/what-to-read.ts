import { joined } from '../../wire/index.ts'
import { unpackBegin } from '../codings.ts'
import type { AnswerHead, Call } from '../call-request.ts'
import { FirstEventReader, insideBytesMax, type FormOf, type Kind, kindOf } from './first-event-error.ts'
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
  if (!call) return undefined
  // The bytes that came with the head are usually enough, and then nothing is waited for.
  const { early = [] } = call
  const { codings } = head
  const begin = codings.length === 0 ? joined(early) : unpackBegin(joined(early), codings, insideBytesMax)
  // It is longer than an error, or its decoder reports the fault.
  if (!begin) return undefined
  // Vendors send errors with a wrong type, or with none.
  const kind = kindOf(head)
  const form = formOf(begin)
  if (kind === 'events' || form === 'events') return beginsWithAnswer(early, head, formOf) ? undefined : 'events'
  if (begin.length === 0 ? kind === 'json' : mayBeError(begin)) return 'json'
  return form === undefined ? 'form' : undefined
}

function beginsWithAnswer(events: readonly Buffer[], { codings }: AnswerHead, formOf: FormOf): boolean {
  if (events.length === 0) return false
  const words = new FirstEventReader('events', undefined, formOf, codings)
  return events.some(chunk => words.add(chunk)) && words.inside() === undefined
}
