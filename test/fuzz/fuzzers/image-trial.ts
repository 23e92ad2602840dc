import { type Answered, bill, type Billed } from '../doors/image-door.ts'
import { insist, type Trial } from '../fuzzer.ts'
import type { Meter } from '../meter.ts'
import { readEvents } from '../readers/read-events.ts'
import { readJson } from '../readers/read-json.ts'
import { countNamed, readHeld } from '../readers/read-held.ts'
import { type Encoding, render, type Rendered } from '../readers/render.ts'

/** An answer that may have pictures in it. */
export type ImageCase = Omit<Answered, 'bytes'> & {
  /** The answer, with pictures in the notation of `render`. */
  readonly body: string
  readonly encoding: Encoding
  /** The generator's knowledge of the answer: the number of images in a known shape, or null. */
  readonly images: number | null
}

/** Bills an answer, and compares the client's bytes at each time with the lines committed by then. */
export function imageTrial(options: { readonly planted: boolean; readonly meter: Meter }): Trial<ImageCase> {
  return {
    async try(one) {
      const rendered = render(one.body, one.encoding)
      const answered = { ...one, bytes: rendered.bytes }
      judge(one, rendered, await bill(answered, options.meter, options.planted))
      return rendered.bytes.length
    },
    close: () => Promise.resolve(),
  }
}

function judge(one: ImageCase, rendered: Rendered, billed: Billed): void {
  const { bytes, written } = rendered
  insist(billed.ends.length === 1, () => `the charge ended ${billed.ends.length} times: ${billed.ends.join(', ')}`)
  const count = (end: number): number => {
    const held = readHeld(billed.received.subarray(0, end), mark => rendered.ids.get(mark))
    return held.pictures.size + held.links
  }
  const held = count(billed.received.length)
  insist(
    held <= billed.lines,
    () => `free image: the caller holds ${held}, lines ${billed.lines}, charge ${billed.ends[0]}${refusalNote(billed)}`,
  )
  for (const [lines, end] of lastOfEach(billed.course)) {
    if (lines >= held) continue
    const early = count(end)
    insist(early <= lines, () => `early image: ${early} had left when ${lines} of ${billed.lines} lines were committed`)
  }
  const most = written + countNamed(bytes)
  insist(billed.lines <= most, () => `phantom line: ${billed.lines} lines for an answer with ${most} images at most`)
  if (billed.lines > 0 && billed.ends[0]?.startsWith('void')) insist(false, () => 'voided with lines')
  judgeRefusal(billed)
  if (billed.lines > 0 && one.stop === null) judgeDelivery(one, billed)
  if (one.images !== null && one.stop === null) judgeKnown(one, one.images, bytes, billed)
}

/** A charged client gets its images: an answer with readable and charged images is delivered completely. */
function judgeDelivery(one: ImageCase, { refusal, received, ends }: Billed): void {
  if (refusal?.code === 'upstream_answer_malformed') return
  insist(!refusal, () => `charged and withheld: ${refusal?.message}`)
  insist(ends[0]?.startsWith('settle') === true, () => `it came whole and ended with ${ends[0]}`)
  const isStream = one.type?.startsWith('text/event-stream') === true || one.stream
  const texts = isStream
    ? readEvents(received.toString()).map(({ data }) => data.trim())
    : [received.toString().replace(/^\uFEFF/, '')]
  for (const text of texts)
    if (text !== '' && text !== '[DONE]') insist(readJson(text) !== undefined, () => `spoilt: ${text.slice(0, 300)}`)
}

/** For each number of lines, the last time at which it held. */
function lastOfEach(course: Billed['course']): ReadonlyMap<number, number> {
  return new Map(course)
}

/** An unrecognised answer needs a person's decision, and its hold stays until then. */
function judgeRefusal(billed: Billed): void {
  if (billed.refusal?.code !== 'upstream_answer_unrecognised' || billed.lines > 0) return
  const end = billed.ends[0] ?? ''
  insist(/^review .* kept$/.test(end), () => `an answer that was not recognised ended its charge with ${end}`)
}

/** A known, valid answer passes byte for byte, and costs exactly its images. */
function judgeKnown(one: ImageCase, images: number, bytes: Buffer, billed: Billed): void {
  const { refusal } = billed
  insist(!refusal, () => `false refusal: ${refusal?.code}: ${refusal?.message}`)
  insist(billed.lines === images, () => `${images} images were billed as ${billed.lines}`)
  const end = billed.ends[0] ?? ''
  insist(end.startsWith(images > 0 ? 'settle' : 'void'), () => `an answer with ${images} images ended with ${end}`)
  if (one.asUrl) return insistRendered(bytes, billed.received)
  insist(billed.received.equals(bytes), () => `changed: ${billed.received.length} bytes came of ${bytes.length}`)
}

/** If links were requested, each `b64_json` becomes a `url` with the same picture; everything else is unchanged. */
function insistRendered(bytes: Buffer, received: Buffer): void {
  const [was, is] = [bytes, received].map(text => JSON.parse(text.toString()) as Answer) as [Answer, Answer]
  const expected = JSON.stringify({ ...was, data: was.data?.map(element => sorted(renderElement(element))) })
  const found = JSON.stringify({ ...is, data: is.data?.map(element => sorted(withoutNull(element))) })
  insist(found === expected, () => `rendered otherwise: ${found.slice(0, 300)}`)
}

type Element = { readonly [name: string]: unknown }
type Answer = { readonly data?: readonly Element[] }

const sorted = (element: Element): Element =>
  Object.fromEntries(Object.entries(element).toSorted(([a], [b]) => (a < b ? -1 : 1)))

/** An absent form of the picture may be null or missing. */
const withoutNull = (element: Element): Element =>
  Object.fromEntries(
    Object.entries(element).filter(([name, value]) => value !== null || (name !== 'url' && name !== 'b64_json')),
  )

function renderElement(element: Element): Element {
  const { b64_json: base64, ...rest } = withoutNull(element)
  if (typeof base64 !== 'string') return rest
  return 'url' in rest
    ? { ...rest, b64_json: base64 }
    : { ...rest, url: `data:image/${kindOf(base64)};base64,${base64}` }
}

function kindOf(base64: string): string {
  const starts = { iVBOR: 'png', '/9j/': 'jpeg', UklGR: 'webp', R0lGO: 'gif' }
  return Object.entries(starts).find(([start]) => base64.startsWith(start))?.[1] ?? 'png'
}

const refusalNote = ({ refusal }: Billed): string => (refusal ? `, cut with ${refusal.code}` : '')
