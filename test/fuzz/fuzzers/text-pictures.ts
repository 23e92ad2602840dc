import * as fc from 'fast-check'
import { describe } from '../../../plugins/image-tier-billing/described-places.ts'
import { DescribedEventScanner } from '../../../plugins/image-tier-billing/scan-described-events.ts'
import { DescribedScanner } from '../../../plugins/image-tier-billing/scan-described.ts'
import type { ScanResult } from '../../../plugins/image-tier-billing/scan-result.ts'
import { ByteBudget } from '../../../src/wire/index.ts'
import { pngHead } from '../../harness/image-heads.ts'
import { cuts, type Fuzzer, insist, pieces } from '../fuzzer.ts'

/** A part of a text: words, a picture in base64 by its number, or a link. */
type Part =
  | { readonly words: string }
  | { readonly picture: number; readonly lines: boolean }
  | { readonly link: number }

type TextCase = {
  readonly channel: keyof typeof channels
  /** The text of each choice, and where it is cut. */
  readonly choices: readonly { readonly parts: readonly Part[]; readonly cuts: readonly number[] }[]
  readonly stream: boolean
  /** The choice's index comes after its text. */
  readonly isIndexLast: boolean
  readonly room: number
  readonly wireCuts: readonly number[]
}

const description = describe({
  at: ['choices.message.images', 'candidates.content.parts'],
  picture: ['image_url.url', 'inlineData.data'],
  refused: [{ if: { done: 'any' } }],
  stream: { each: 'answer' },
})
const texts = { texts: ['content', 'reasoning', 'text'] }

/** The form of one choice's text in an answer or an event. */
const channels = {
  content: (text: string) => ({ delta: { content: text } }),
  reasoning: (text: string) => ({ delta: { role: 'assistant', reasoning: text, content: null } }),
  parts: (text: string) => ({ content: { role: 'model', parts: [{ text }] } }),
}

function textOf(parts: readonly Part[]): string {
  return parts
    .map(part => {
      if ('words' in part) return part.words
      if ('link' in part) return `![a](https://cdn.example/${part.link}.png)`
      const base64 = Buffer.concat([pngHead(part.picture + 1, 5), Buffer.alloc(400, part.picture)]).toString('base64')
      return `![a](data:image/png;base64,${part.lines ? base64.replaceAll(/.{76}/g, '$&\n') : base64})`
    })
    .join('')
}

/** The pictures in the whole text: each picture once, and each link that is not another form of one. */
function countPictures(choices: TextCase['choices']): number {
  const seen = new Set<string>()
  for (const { parts } of choices) {
    for (const part of parts) if ('picture' in part) seen.add(`${part.picture}`)
    const isLinks = parts.every(part => 'link' in part || ('words' in part && !/\p{L}/u.test(part.words)))
    if (isLinks) for (const part of parts) if ('link' in part) seen.add(`link ${part.link}`)
  }
  return seen.size
}

function eventsOf({ channel, choices, isIndexLast }: TextCase): readonly object[] {
  const list = channel === 'parts' ? 'candidates' : 'choices'
  const all = choices.map(({ parts, cuts: at }) => cutText(textOf(parts), at))
  const longest = Math.max(0, ...all.map(one => one.length))
  const events: object[] = []
  for (let i = 0; i < longest; i++)
    for (const [index, own] of all.entries()) {
      const piece = own[i]
      if (piece === undefined) continue
      const message = channels[channel](piece)
      events.push({ [list]: [isIndexLast ? { ...message, index } : { index, ...message }] })
    }
  return events
}

function cutText(text: string, lengths: readonly number[]): string[] {
  const all: string[] = []
  for (let at = 0, i = 0; at < text.length; i++) {
    const length = lengths[i % lengths.length] ?? text.length
    all.push(text.slice(at, at + length))
    at += length
  }
  return all
}

function judge(one: TextCase, planted: boolean): number {
  const events = [...eventsOf(one), { done: 'stop' }]
  const list = one.channel === 'parts' ? 'candidates' : 'choices'
  const whole = { [list]: one.choices.map(({ parts }) => channels[one.channel](textOf(parts))), done: 'stop' }
  const text = one.stream
    ? events.map(event => `data: ${JSON.stringify(event)}\n\n`).join('')
    : JSON.stringify(whole).replaceAll('"delta"', '"message"')
  const bytes = Buffer.from(text)
  const scanner = one.stream
    ? new DescribedEventScanner(description, new ByteBudget(one.room), texts)
    : new DescribedScanner(description, texts)
  const out: Buffer[] = []
  let lines = 0
  const take = (scanned: ScanResult): void => {
    out.push(...scanned.out)
    lines += planted ? 0 : scanned.done.length
  }
  for (const piece of pieces(bytes, one.wireCuts)) take(scanner.write(piece))
  take(scanner.end())
  insist(Buffer.concat(out).equals(bytes), () => 'what is charged was not handed out whole')
  const pictures = countPictures(one.choices)
  insist(lines === pictures, () => `${pictures} pictures stand in texts, and ${lines} are charged`)
  return bytes.length
}

const word = fc.constantFrom(
  'A boat. ',
  'see https://x.example/y for more, ',
  '\n',
  ' ',
  'iVBORw0KGgo is how PNG begins. ',
  '海。',
)
const part: fc.Arbitrary<Part> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ words: word }) },
  { weight: 3, arbitrary: fc.record({ picture: fc.nat(5), lines: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ link: fc.nat(3) }) },
)

export const textPictures: Fuzzer<TextCase> = {
  name: 'text-pictures',
  promise: 'a picture in a text is charged once and handed out whole, wherever the text is cut, in whatever channel',
  cases: fc.record({
    channel: fc.constantFrom('content', 'reasoning', 'parts'),
    choices: fc.array(fc.record({ parts: fc.array(part, { maxLength: 5 }), cuts }), { minLength: 1, maxLength: 3 }),
    stream: fc.boolean(),
    isIndexLast: fc.boolean(),
    room: fc.constantFrom(1_000_000, 3_000, 0),
    wireCuts: cuts,
  }),
  short: 400,
  open: ({ planted }) => Promise.resolve({ try: one => judge(one, planted), close: () => Promise.resolve() }),
}
