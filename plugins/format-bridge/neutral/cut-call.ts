import type { Stop } from './answer.ts'
import type { CallPart, Part } from './conversation.ts'
import { asObject, parseJson } from './read.ts'

/** A call of which the vendor's limit of tokens has left a part. Formats whose arguments are objects have no place for it. */
export function isCutCall(part: Part, { why }: Stop): part is CallPart {
  return why === 'length' && part.kind === 'call' && !asObject(parseJson(part.arguments || '{}'))
}
