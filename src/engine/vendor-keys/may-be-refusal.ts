import type { AnswerHead, Call } from '../call-request.ts'
import { FirstWords, kindOf } from './first-words.ts'
import { mayBeError } from './may-be-error.ts'

/**
 * Whether an answer has to be heard to know what it is: one of a status that is none, or one that may be an error all the
 * same. Of an upstream that is sent no key only streams are heard.
 * @param call where its first words come from; absent where several requests make the answer, which are heard one by one
 */
export function mayBeRefusal(head: AnswerHead, hasKey: boolean, call: Call | undefined): boolean {
  if (head.status >= 400) return hasKey
  const kind = kindOf(head)
  if (!call || kind === undefined || (kind === 'json' && !hasKey)) return false
  // What came with the head is mostly enough, and then there is nothing to wait for.
  const { early = [] } = call
  return kind === 'json' ? mayBeErrorAfter(early) : !beginsWithAnswer(early)
}

function mayBeErrorAfter([first]: readonly Buffer[]): boolean {
  return first === undefined || mayBeError(first)
}

function beginsWithAnswer(events: readonly Buffer[]): boolean {
  if (events.length === 0) return false
  const words = new FirstWords('events')
  return events.some(chunk => words.add(chunk)) && words.inside() === undefined
}
