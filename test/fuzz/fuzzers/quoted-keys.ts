import * as fc from 'fast-check'
import { AnswerRedaction, soughtSecrets } from '../../../src/engine/answer-redaction.ts'
import { createRedaction, strikeOut } from '../../../src/engine/redact.ts'
import type { Stage, Upstream } from '../../../src/domain/index.ts'
import { cuts, type Fuzzer, insist, pieces } from '../fuzzer.ts'

const signs = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.+/='
const ways = ['as it is', 'unicode', 'UNICODE', 'percent', 'decimal', 'hex', 'named', 'x'] as const
type Way = (typeof ways)[number]
const wraps = ['none', 'json', 'json twice', 'page', 'page in JSON', 'address'] as const

type QuotedCase = {
  readonly key: string
  /** `base64`: with text before and after the key, and with a line length. */
  readonly form: 'plain' | 'digits' | 'base64' | 'base64url'
  readonly before: string
  readonly behind: string
  readonly lines: boolean
  /** How each character is written, repeated cyclically. */
  readonly ways: readonly Way[]
  readonly wrap: (typeof wraps)[number]
  readonly text: string
  readonly where: 'error' | 'answer' | 'whole'
  readonly cuts: readonly number[]
}

const key = fc
  .array(fc.constantFrom(...signs.split('')), { minLength: 20, maxLength: 60 })
  .map(all => `k9A${all.join('')}`)
  .filter(one => !/\s/.test(one))
const mixed = fc.array(fc.constantFrom(...ways), { minLength: 1, maxLength: 5 })
const cases: fc.Arbitrary<QuotedCase> = fc.record({
  key,
  form: fc.constantFrom('plain', 'plain', 'digits', 'base64', 'base64', 'base64url'),
  before: fc.constantFrom('', 'a', 'ab', 'Bearer ', 'user:', 'api-key: '),
  behind: fc.constantFrom('', 'b', '\r\n', ' and more'),
  lines: fc.boolean(),
  ways: fc.oneof(
    fc.constantFrom(...ways).map(one => [one]),
    mixed,
  ),
  wrap: fc.constantFrom(...wraps),
  text: fc.constantFrom(
    '',
    'no such key: ',
    '{"error":"',
    'data: {"a":"50% of &lt; \\n',
    'x'.repeat(300),
    '\\u6e2f%E6%B8%AF ',
  ),
  where: fc.constantFrom('error', 'answer', 'whole'),
  cuts,
})

/** Characters as written; `isKey`: it contains bits of the key. */
type Written = readonly { readonly text: string; readonly isKey: boolean }[]

/** A quoted key of the gateway, in any encoding, must not reach the client; the text around it must. */
export const quotedKeys: Fuzzer<QuotedCase> = {
  name: 'quoted-keys',
  promise: 'of a key that an upstream quotes no sign passes, however it is written and cut, and everything else does',
  cases,
  short: 3_000,
  open: ({ planted, meter }) =>
    Promise.resolve({
      try(one) {
        const written = wrapped(one)
        const [front, quoted] = [one.text, written.map(({ text }) => text).join('')]
        const given = Buffer.from(`${front}${quoted}" \n\n`)
        const out = planted ? given : meter.turn(() => pass(one, given))
        insist(out.length === given.length, () => `${given.length} bytes became ${out.length}`)
        insist(out.toString('latin1', 0, front.length) === front, () => `what stands before it: ${out.toString()}`)
        insist(
          out.toString('latin1', front.length + quoted.length) === '" \n\n',
          () => `what follows it: ${out.toString()}`,
        )
        let at = front.length
        for (const { text, isKey } of written) {
          const left = out.toString('latin1', at, at + text.length)
          insist(!isKey || /^\*+$/.test(left), () => `${JSON.stringify(left)} is left in ${out.toString()}`)
          at += text.length
        }
        return given.length
      },
      close: () => Promise.resolve(),
    }),
}

function pass({ key: secret, where, cuts: lengths }: QuotedCase, given: Buffer): Buffer {
  if (where === 'whole') return Buffer.from(strikeOut(given.toString(), [`Bearer ${secret}`]))
  const credential = [{ kind: 'header', name: 'authorization', value: `Bearer ${secret}` }]
  const upstream = { url: 'https://vendor.example', credential, headers: {}, query: {} } as unknown as Upstream
  const stage: Stage =
    where === 'error' ? (createRedaction([secret]) as Stage) : new AnswerRedaction(soughtSecrets(upstream))
  const out = [...pieces(given, lengths)].map(piece => stage.write(piece) as Buffer)
  return Buffer.concat([...out, stage.end() as Buffer])
}

function wrapped(one: QuotedCase): Written {
  const signsOf = encoded(one).map(({ text, isKey }, i) => ({ text: write(text, one, i), isKey }))
  const through = (undo: (text: string) => string): Written =>
    signsOf.map(({ text, isKey }) => ({ text: undo(text), isKey }))
  if (one.wrap === 'json') return through(inJson)
  if (one.wrap === 'json twice') return through(text => inJson(inJson(text)))
  if (one.wrap === 'page') return through(text => text.replaceAll('&', '&amp;'))
  if (one.wrap === 'page in JSON') return through(text => inJson(text).replaceAll('&', '\\u0026'))
  if (one.wrap === 'address') return through(text => text.replaceAll('%', '%25'))
  return signsOf
}

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

/** The characters of the encoding, each with whether it contains bits of the key. */
function encoded({ key: secret, form, before, behind, lines, where }: QuotedCase): Written {
  if (form === 'plain' || (form === 'digits' && where === 'answer'))
    return secret.split('').map(text => ({ text, isKey: true }))
  if (form === 'digits')
    return Buffer.from(secret)
      .toString('hex')
      .split('')
      .map(text => ({ text, isKey: true }))
  const text = Buffer.from(before + secret + behind).toString(form)
  const from = before.length * 8
  const to = from + secret.length * 8
  // The character before it may have passed with the previous chunk, and with it four bits of the first letter.
  const first = where === 'answer' ? from : from - 5
  const all = text.split('').map((sign, i) => ({ text: sign, isKey: sign !== '=' && i * 6 >= first && i * 6 < to }))
  // Only answers that sell nothing are searched for keys across lines.
  if (!lines || where === 'answer') return all
  return all.flatMap((sign, i) => (i % 76 === 75 ? [sign, { text: '\r\n', isKey: false }] : [sign]))
}

const names: { readonly [sign: string]: string } = {
  '+': 'plus',
  '/': 'sol',
  '=': 'equals',
  _: 'lowbar',
  '.': 'period',
}

function write(sign: string, { ways: all, wrap, where }: QuotedCase, i: number): string {
  const way = all[i % all.length] as Way
  const code = sign.charCodeAt(0)
  const hex = code.toString(16).padStart(2, '0')
  // A line end is escaped like the text around it.
  if (sign === '\r\n' || way === 'as it is') return sign
  // Escapes are decoded as often as readers do, and no more.
  if (wrap === 'json twice' && (way === 'unicode' || way === 'UNICODE' || way === 'x')) return sign
  // JSON has no such escape, so successful answers are not searched for it.
  if (way === 'x' && where === 'answer') return sign
  if (way === 'unicode') return `\\u00${hex}`
  if (way === 'UNICODE') return `\\u00${hex.toUpperCase()}`
  if (way === 'x') return `\\x${hex}`
  if (way === 'percent') return `%${i % 2 === 0 ? hex : hex.toUpperCase()}`
  if (way === 'decimal') return `&#${code};`
  if (way === 'hex') return `&#${i % 2 === 0 ? 'x' : 'X'}${i % 3 === 0 ? '00' : ''}${hex};`
  const name = names[sign]
  return name === undefined ? sign : `&${name};`
}
