import type { Stop } from './answer.ts'
import type { CallPart, Part } from './conversation.ts'
import { asObject, parseJson } from './read.ts'

/** A call whose arguments are not an object. Formats whose arguments are objects cannot represent it. */
export function isBrokenCall(part: Part): part is CallPart {
  return part.kind === 'call' && !asObject(parseJson(part.arguments || '{}'))
}

/** A broken call in an answer that the token limit has ended: the rest of its arguments is missing. */
export function isCutCall(part: Part, { why }: Stop): part is CallPart {
  return why === 'length' && isBrokenCall(part)
}
