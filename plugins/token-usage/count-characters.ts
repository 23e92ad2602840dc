import { type Body, readField } from '../../src/kit/index.ts'

/** The characters (code points, so that an emoji is one) of a text field; null when there is no such text. */
export function countCharacters(body: Body, field: string | undefined): number | null {
  if (field === undefined) return null
  const text = readField(body, field)
  if (typeof text !== 'string') return null
  let count = text.length
  for (let i = 0; i + 1 < text.length; i++) if ((text.codePointAt(i) as number) > 0xffff) count--
  return count
}
