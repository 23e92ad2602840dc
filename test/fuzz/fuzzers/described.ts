import * as fc from 'fast-check'
import { describe } from '../../../plugins/image-tier-billing/described-places.ts'
import { DescribedEventScanner } from '../../../plugins/image-tier-billing/scan-described-events.ts'
import { DescribedScanner } from '../../../plugins/image-tier-billing/scan-described.ts'
import { type ScanResult, Unreadable, Unrecognised } from '../../../plugins/image-tier-billing/scan-result.ts'
import { ByteBudget } from '../../../src/wire/index.ts'
import { cuts, type Fuzzer, insist, pieces } from '../fuzzer.ts'
import { readEvents } from '../readers/read-events.ts'
import { readJson, type Tree } from '../readers/read-json.ts'
import { readHeld } from '../readers/read-held.ts'
import { render } from '../readers/render.ts'
import { blanks, dull, listOf, made, member, objectOf, quoted } from './image-words.ts'

type DescribedCase = {
  readonly body: string
  readonly stream: boolean
  /** Bytes of room for whole events. */
  readonly room: number
  readonly cuts: readonly number[]
  /** Whether the answer has no unknown parts. */
  readonly isKnown: boolean
}

const description = describe({
  at: 'candidates.content.parts',
  picture: 'inlineData.data',
  skip_if: { thought: true },
  opaque: ['signature'],
  refused: [{ if: { 'candidates.finishReason': 'any' } }],
  stream: { each: 'answer' },
})
const words = { texts: ['text'] }

type Part = { readonly thought?: unknown; readonly inlineData?: { readonly data?: unknown } }
type Answer = { readonly candidates?: readonly { readonly content?: { readonly parts?: readonly Part[] } }[] }
type Truth = {
  readonly pictures: number
  /** The text of thoughts, whichever of two members of one name a reader uses. */
  readonly thoughts: readonly string[]
}

/** What the vendor's own SDK finds in the whole answer; undefined if it cannot read it. */
function readTruth(text: string, stream: boolean): Truth | undefined {
  try {
    const texts = stream ? readEvents(text).map(({ data }) => data) : [text]
    const answers = texts.filter(one => one !== '' && one !== '[DONE]').map(one => JSON.parse(one) as Answer)
    const seen = new Set<unknown>()
    let pictures = 0
    for (const { candidates } of answers) {
      const parts = listed(candidates).flatMap(one => listed(one?.content?.parts))
      const own = parts.filter(part => part?.thought !== true && part?.thought !== 'true')
      const strings = own.map(part => part?.inlineData?.data).filter(one => typeof one === 'string' && one !== '')
      // A picture that an earlier event had is the same picture.
      pictures += strings.filter(one => !seen.has(one)).length
      for (const one of strings) seen.add(one)
    }
    return { pictures, thoughts: texts.flatMap(one => thoughtsIn(readJson(one))) }
  } catch {
    return undefined
  }
}

/** Checks that the answer is still readable after parts were left out. */
function insistComplete(received: Buffer, stream: boolean): void {
  const texts = stream ? readEvents(received.toString()).map(({ data }) => data.trim()) : [received.toString()]
  for (const text of texts)
    if (text !== '' && text !== '[DONE]') insist(readJson(text) !== undefined, () => `spoilt: ${text.slice(0, 300)}`)
}

function thoughtsIn(tree: Tree | undefined, isThought = false): readonly string[] {
  if (tree?.kind === 'string') return isThought ? [tree.text] : []
  if (tree?.kind === 'array') return tree.elements.flatMap(one => thoughtsIn(one, isThought))
  if (tree?.kind !== 'object') return []
  const is =
    isThought || tree.members.some(([name, value]) => name === 'thought' && 'text' in value && value.text === 'true')
  return tree.members.flatMap(([, value]) => thoughtsIn(value, is))
}

function listed<One>(value: readonly One[] | One | undefined | null): readonly One[] {
  return Array.isArray(value) ? (value as readonly One[]) : value === undefined || value === null ? [] : [value as One]
}

function judge(one: DescribedCase, planted: boolean): number {
  const { bytes, ids } = render(one.body)
  const scanner = one.stream
    ? new DescribedEventScanner(description, new ByteBudget(one.room), words)
    : new DescribedScanner(description, words)
  const out: Buffer[] = []
  let lines = 0
  const take = (scanned: ScanResult): void => {
    out.push(...scanned.out)
    lines += planted ? 0 : scanned.done.length
  }
  let refusal: Error | undefined
  try {
    for (const piece of pieces(bytes, one.cuts)) take(scanner.write(piece))
    take(scanner.end())
  } catch (error) {
    if (!(error instanceof Unreadable || error instanceof Unrecognised)) throw error
    refusal = error
  }
  const received = Buffer.concat(out)
  const truth = readTruth(bytes.toString(), one.stream)
  const held = readHeld(received, mark => ids.get(mark))
  // A link next to a picture that was left out counts as a link of its own.
  const idOfHeld = (mark: string): number | undefined => (held.pictures.has(mark) ? ids.get(mark) : undefined)
  const free = readHeld(Buffer.from(JSON.stringify(truth?.thoughts ?? [])), idOfHeld)
  const owed = [...held.pictures].filter(mark => !free.pictures.has(mark)).length + held.links - free.links
  const mayThink = truth === undefined ? bytes.toString().split('hought').length - 1 : 0
  insist(
    owed <= lines + mayThink,
    () => `free picture: ${owed} are held, ${lines} lines${refusal ? `, ${refusal}` : ''}`,
  )
  if (!refusal) {
    insist(received.length === bytes.length, () => `changed: ${received.length} bytes came of ${bytes.length}`)
    if (scanner.omitted === undefined) {
      insist(received.equals(bytes), () => 'changed, and nothing was left out')
      insist(truth !== undefined, () => 'what nobody can read passed')
      insist(lines >= truth.pictures, () => `${truth.pictures} pictures, ${lines} lines`)
    } else insistComplete(received, one.stream)
  }
  if (one.isKnown) {
    insist(!refusal, () => `false refusal: ${refusal}`)
    insist(lines === truth?.pictures, () => `${truth?.pictures} pictures were billed as ${lines}`)
  }
  return bytes.length
}

const data = fc.oneof(
  { weight: 8, arbitrary: member(['data'], quoted(made('P', 'P', 'U', 'M', 'E', 'D', 'Q', 'L', 'K'))) },
  { weight: 1, arbitrary: member(['data', 'b64_json', 'Data'], quoted(made('P', 'L'))) },
  { weight: 1, arbitrary: member(['data'], dull) },
)
const mime = fc.constant('"mimeType":"image/png"')
const inline = objectOf([mime, data], member(['data', 'x', 'displayName'], dull), 1)
const thought = fc.constantFrom(
  '"thought":true',
  '"thought":true',
  '"thought":false',
  '"thought":"true"',
  '"thought":null',
)
const odd = fc.oneof(
  { weight: 3, arbitrary: member(['text', 'x', 'role', 'signature'], dull) },
  { weight: 1, arbitrary: member(['text', 'x', 'signature'], quoted(made('P', 'L', 'D'))) },
  { weight: 3, arbitrary: thought },
)
const part = fc.oneof(
  { weight: 5, arbitrary: objectOf([member(['inlineData'], inline)], odd) },
  { weight: 1, arbitrary: objectOf([member(['inline_data', 'fileData'], inline)], odd) },
  { weight: 2, arbitrary: fc.constant('{"text":"a \\"boat\\", see https://other.example/x"}') },
)
const content = objectOf(
  [member(['parts'], fc.oneof({ weight: 6, arbitrary: listOf(part, 4) }, { weight: 1, arbitrary: part }))],
  odd,
  1,
)
const candidate = objectOf([member(['content'], content)], member(['finishReason', 'index', 'content'], dull), 1)
const answer = objectOf(
  [member(['candidates'], listOf(candidate, 2))],
  member(['usageMetadata', 'error', 'x'], dull),
  1,
)

const plain = fc.tuple(made('P', 'P', 'D', 'L', 'E'), fc.nat(7), blanks).map(([one, bits, blank]) => {
  const own = [`"inlineData":{"mimeType":"image/png",${blank}"data":"${one}"}`]
  if (bits & 1) own.push('"thought":true')
  if (bits & 2) own.push(`"signature":"${'CoMB'.repeat(300)}"`)
  return `{${(bits & 4 ? own.toReversed() : own).join(`,${blank}`)}}`
})
const known = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: plain },
      { weight: 1, arbitrary: fc.constant('{"text":"see https://other.example/x"}') },
    ),
    { maxLength: 4 },
  )
  .map(
    parts =>
      `{"candidates":[{"content":{"parts":[${parts.join(',')}],"role":"model"},"finishReason":"STOP","index":0}]}`,
  )

const eventsOf = (one: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.array(one, { minLength: 1, maxLength: 4 }),
      fc.constantFrom('\n', '\r\n', '\r'),
      fc.constantFrom('', ': so\n\n', 'data: [DONE]\n\n'),
    )
    .map(([all, end, last]) => all.map(text => `data: ${text.replaceAll(/[\r\n]+/g, ' ')}${end}${end}`).join('') + last)

const caseOf = (body: fc.Arbitrary<string>, stream: boolean, isKnown: boolean): fc.Arbitrary<DescribedCase> =>
  fc.record({
    body,
    stream: fc.constant(stream),
    room: fc.constantFrom(1_000_000, 1_000_000, 3_000, 0),
    cuts,
    isKnown: fc.constant(isKnown),
  })

const promise =
  'of answers in a vendor’s own style each picture that a caller holds has a line, and known ones pass whole'
const open: Fuzzer<DescribedCase>['open'] = ({ planted }) =>
  Promise.resolve({ try: one => judge(one, planted), close: () => Promise.resolve() })
const change: NonNullable<Fuzzer<DescribedCase>['change']> = {
  text: 'body',
  loosen: one => ({ ...one, isKnown: false }),
}

export const described: Fuzzer<DescribedCase> = {
  name: 'described',
  promise,
  cases: fc.oneof(
    { weight: 2, arbitrary: caseOf(answer, false, false) },
    { weight: 1, arbitrary: caseOf(known, false, true) },
  ),
  short: 500,
  change,
  open,
}

export const describedStreams: Fuzzer<DescribedCase> = {
  ...described,
  name: 'described-streams',
  promise: `${promise}, streamed`,
  cases: fc.oneof(
    { weight: 2, arbitrary: caseOf(eventsOf(answer), true, false) },
    { weight: 1, arbitrary: caseOf(eventsOf(known), true, true) },
  ),
}
