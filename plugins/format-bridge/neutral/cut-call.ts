import type { Stop } from './answer.ts'
import type { CallPart, Part } from './conversation.ts'
import { asObject, parseJson } from './read.ts'

/** A call whose arguments are no object. Formats whose arguments are objects have no place for it. */
export function isBrokenCall(part: Part): part is CallPart {
  return part.kind === 'call' && !asObject(parseJson(part.arguments || '{}'))
}

/** A broken call in an answer that the limit of tokens has ended: the rest of its arguments is missing. */
export function isCutCall(part: Part, { why }: Stop): part is CallPart {
  return why === 'length' && isBrokenCall(part)
}
