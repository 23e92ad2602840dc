import { joined } from '../../wire/index.ts'
import type { AnswerHead, Call } from '../call-request.ts'
import { FirstEventReader, type FormOf, type Kind, kindOf } from './first-event-error.ts'
import { mayBeError } from './may-be-error.ts'

/** What is known before an answer is heard. */
export type ReadingNeeds = {
  readonly hasKey: boolean
  /** Where its first words come from; absent where several requests make the answer, which are heard one by one. */
  readonly call: Call | undefined
  readonly formOf: FormOf
  /** JSON is no answer: it is an error, or of another form than requested. */
  readonly wantsEvents: boolean
}

/**
 * What has to be heard of an answer to know what it is: of a status that is none, of one that may be an error all the same,
 * and of one whose form has not shown yet. Undefined where what came with the head shows all of it.
 */
export function kindToRead(head: AnswerHead, { hasKey, call, formOf, wantsEvents }: ReadingNeeds): Kind | undefined {
  if (head.status >= 400) return hasKey ? 'refusal' : undefined
  if (!call || head.codings.length > 0) return undefined
  // What came with the head is mostly enough, and then there is nothing to wait for.
  const { early = [] } = call
  const kind = kindOf(head)
  if (kind === 'events') return beginsWithAnswer(early, formOf) ? undefined : 'events'
  // Of an upstream that is sent no key only streams are heard for errors.
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
