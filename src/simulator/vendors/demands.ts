import type { Marks } from '../text/marks.ts'
import { readMarks } from '../text/marks.ts'

/**
 * The demands that a prompt may make of a simulated image vendor, in addition to status, slow, pause, cut and
 * error-event.
 */
export const pictureDemands = {
  '[[refused]]':
    "refuse the prompt in the vendor's own way, which for many is an answer of status 200 without a picture",
  '[[refuse-every N]]': 'refuse as [[refused]] does, but every Nth request of this very prompt alone',
  '[[fail-every N STATUS]]': 'fail every Nth request of this very prompt, with that status or 500',
  '[[fewer N]]': 'make N pictures fewer than requested without a notice',
  '[[half]]': 'let every second picture fail, the first not; reported where the vendor reports such failures',
  '[[more N]]': 'make N pictures more than requested, where the vendor may',
  '[[pixels W H]]': 'draw every picture W by H, whatever was requested',
  '[[hollow]]': 'send a text where a picture should be',
  '[[twice]]': 'send every picture once more, the same pixels in other bytes',
  '[[thoughts N]]': 'send N pictures of thought before the real ones, where the vendor has such',
  '[[words-only]]': 'answer with words and no picture, where the vendor may',
  '[[html]]': 'answer with a page of HTML and status 200',
  '[[gone]]': 'give links that have ended already',
  '[[late]]': 'turn a synchronous request into a job, where the vendor may',
  '[[polls N]]': 'let N polls find the job still running, 1 by default',
  '[[failed]]': 'let the job fail',
  '[[moderated]]': "let the vendor's moderation stop the picture, or the job, after it has been made",
  '[[endless]]': 'let the job never end',
  '[[expired]]': 'let the job be forgotten after its first poll',
  '[[elsewhere N]]': 'give poll links at localhost:N, another origin than the own',
} as const

export type Demands = Marks & {
  /** The prompt as the client sent it. */
  readonly prompt: string
  has(name: string): boolean
  /** The numbers of a demand; undefined if the prompt does not have it. */
  numbers(name: string): readonly [number | undefined, number | undefined] | undefined
}

const mark = /\[\[([a-z-]+)(?: (\d{1,5}))?(?: (\d{1,5}))?\]\]/g

/** @param turn the number of requests with this prompt, including this one */
export function readDemands(prompt: string, turn: number): Demands {
  const found = new Map(
    [...prompt.matchAll(mark)].map(([, name = '', first, second]) => [
      name,
      [toNumber(first), toNumber(second)] as const,
    ]),
  )
  const isTurn = (name: string): boolean => turn % (found.get(name)?.[0] ?? Infinity) === 0
  if (isTurn('refuse-every')) found.set('refused', [undefined, undefined])
  const marks = readMarks(prompt)
  const status = found.get('fail-every')?.[1] ?? 500
  const failing = isTurn('fail-every') && {
    status: status >= 400 && status <= 599 ? status : 500,
    retryAfterS: undefined,
  }
  return {
    ...marks,
    refusal: failing || marks.refusal,
    text: prompt.replaceAll(mark, '').trim(),
    prompt,
    has: name => found.has(name),
    numbers: name => found.get(name),
  }
}

function toNumber(digits: string | undefined): number | undefined {
  return digits === undefined ? undefined : Number(digits)
}
