import type { Stop } from './answer.ts'
import type { CallPart, Part } from './conversation.ts'
import { asObject, parseJson } from './read.ts'

/** Whether a call's arguments are not an object. Formats with objects as arguments cannot represent it. */
export function isBrokenCall(part: Part): part is CallPart {
  return part.kind === 'call' && !asObject(parseJson(part.arguments || '{}'))
}

/** Whether a call is broken because the token limit has ended the answer: the rest of its arguments is missing. */
export function isTruncatedCall(part: Part, { why }: Stop): part is CallPart {
  return why === 'length' && isBrokenCall(part)
}
