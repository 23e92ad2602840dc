import * as fc from 'fast-check'
import { kinds } from '../readers/made.ts'

/** A few large pictures, many small ones. */
const sizes = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 200, max: 900 }) },
  { weight: 2, arbitrary: fc.integer({ min: 900, max: 6_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 6_000, max: 40_000 }) },
)

/** A picture or a link to one, in the notation of `how`. */
export const made = (...how: readonly string[]): fc.Arbitrary<string> =>
  fc
    .tuple(fc.constantFrom(...how), fc.nat(40), fc.constantFrom(...kinds), sizes)
    .map(([letter, id, kind, size]) => `{{${letter}${id}.${kind}.${size}}}`)

/** The quoted text of a picture: its bytes, or its address. */
export const coded = made('P', 'P', 'P', 'U', 'M', 'E', 'D', 'Q')
export const anywhere = made('P', 'P', 'P', 'U', 'M', 'E', 'D', 'Q', 'L', 'K', 'N')
export const plain = made('P')

export const blanks = fc.constantFrom('', '', '', ' ', '\n', '\r\n  ', '\t ')

/** A name in JSON, sometimes partly in escapes. */
export const named = (names: readonly string[]): fc.Arbitrary<string> =>
  fc
    .tuple(fc.constantFrom(...names), fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, fc.nat(0xffff)))
    .map(
      ([name, mask]) =>
        `"${Array.from(name, (letter, i) =>
          (mask >> i) & 1 ? `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}` : letter,
        ).join('')}"`,
    )

/** A member of an object in text. */
export const member = (names: readonly string[], value: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(blanks, named(names), blanks, blanks, value, blanks)
    .map(([a, name, b, c, one, d]) => `${a}${name}${b}:${c}${one}${d}`)

/** An object of these members, in any order, and sometimes others. */
export const objectOf = (
  members: readonly fc.Arbitrary<string>[],
  others: fc.Arbitrary<string>,
  most = 2,
): fc.Arbitrary<string> =>
  fc.tuple(fc.tuple(...members), fc.array(others, { maxLength: most }), fc.nat(5)).map(([own, more, turn]) => {
    const all = [...more, ...own]
    const at = turn % Math.max(all.length, 1)
    return `{${[...all.slice(at), ...all.slice(0, at)].join(',')}}`
  })

export const listOf = (element: fc.Arbitrary<string>, maxLength = 3): fc.Arbitrary<string> =>
  fc
    .tuple(fc.array(element, { maxLength }), blanks)
    .map(([list, blank]) => `[${blank}${list.join(`,${blank}`)}${blank}]`)

export const quoted = (text: fc.Arbitrary<string>): fc.Arbitrary<string> => text.map(one => `"${one}"`)

/** Values that are not pictures. */
export const dull = fc.constantFrom(
  'null',
  'true',
  '0',
  '1',
  '-1.5e3',
  '""',
  '"png"',
  '"a \\"boat\\" \\\\ at sea"',
  '[]',
  '{}',
  '"\\u00e9"',
  '1732240000',
  '"https://docs.example/help?x=1"',
  '{"total_tokens":1,"input_tokens_details":{"image_tokens":0}}',
  '["a",{"b":[]}]',
)
