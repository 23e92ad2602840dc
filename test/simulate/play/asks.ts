import type { Message } from '../world/http-wire.ts'
import type { Ill } from './ills.ts'

/** A picture that an upstream made: no other has its bytes, or its link. */
export type Picture = {
  readonly width: number
  readonly height: number
  /** What a caller has who has it whole. */
  readonly proof: string
}

/** What an upstream says was used. */
export type Usage = { readonly input: number; readonly cached: number; readonly output: number }

/** `sketch`: a chat with a model that makes images. */
export type Operation = 'image' | 'edit' | 'chat' | 'sketch' | 'responses' | 'embeddings'

/** What a caller is going to ask, all of it drawn before. */
export type Wish = {
  readonly key: number
  readonly operation: Operation
  readonly model: string
  readonly n: number
  readonly size: string | undefined
  readonly stream: boolean
  /** The caller asks for links, where the family renders them. */
  readonly render: 'url' | 'b64_json' | undefined
  readonly includeUsage: boolean
  /** Bytes of each file of an edit. */
  readonly files: readonly number[]
  /** What the answer looks like, for the first, second … time that an upstream is asked. */
  readonly shapes: readonly string[]
  readonly wire: string
  /** The answer comes packed so, though nobody asked for it. */
  readonly coding: string | undefined
  readonly idempotency: string | undefined
  /** The same request as this one, once more. */
  readonly again: number | undefined
  /** Milliseconds after which the caller leaves; undefined for one who stays. */
  readonly leaves: number | undefined
  /** Bytes of the answer after which the caller leaves. */
  readonly leavesBytes: number | undefined
  /** `keep`: on a connection that was used before, and is kept; `pipeline`: even while that is not through. */
  readonly connection: 'close' | 'keep' | 'pipeline'
  /** What else of the answer is drawn. */
  readonly seed: number
}

/** A request as it came to an upstream. */
export type Arrival = {
  readonly at: number
  readonly host: string
  /** Of the gateway. */
  readonly life: number
  readonly shape: string
  /** The vendor's key that it came with, where that is one of several. */
  readonly secret: string | undefined
  /** What that key had. */
  readonly ill: Ill | undefined
  readonly made: readonly Picture[]
  /** The shape is one that the gateway promises to know. */
  readonly known: boolean
  /** A definite refusal: nothing was begun. */
  readonly refusal: boolean
  /** The answer says nothing that a caller could use: an error. */
  readonly failed: boolean
  readonly usage: Usage | undefined
  /** What it says of its use, where that is nothing or cannot be. */
  readonly odd: 'unsaid' | 'absurd' | undefined
  /** The text that was made, in bytes, and of the whole request. */
  readonly textBytes: number
  readonly requestBytes: number
  /** The body of the answer, when it was written whole. */
  body: string
  /** When the last byte was written; undefined when it never was. */
  wholeAt: number | undefined
  /** When the gateway closed before that. */
  cutOffAt: number | undefined
}

/** With what right a caller comes, by what callers have been told. */
export type Entry =
  | { readonly kind: 'present' }
  /** The key is disabled, and that was committed at this time. */
  | { readonly kind: 'disabled'; readonly since: number }
  /** The secret was replaced at this time, and was to be taken for so many milliseconds more. */
  | { readonly kind: 'replaced'; readonly since: number; readonly overlapMs: number }

/** One request of a caller, and everything that became of it. */
export type Ask = {
  readonly no: number
  readonly wish: Wish
  /** The first of those that are the same request: itself, unless it was asked before. What arrived is kept with that. */
  readonly first: Ask
  readonly sentAt: number
  readonly sentWall: number
  /** Which life of the gateway it was sent to. */
  readonly life: number
  /** Which secret of its key it came with: the present one, or one that was replaced or put out of use. */
  entry: Entry
  readonly arrivals: Arrival[]
  /** The time of the whole request at the gateway's door is not known better than this. */
  endedAt: number | undefined
  left: boolean
  /** Why it does not say anything about the gateway that this ended badly. */
  disturbed: string | undefined
  answer: Message | undefined
  informational: readonly number[]
  broken: string | undefined
}

export function statusOf({ answer }: Ask): number | undefined {
  const status = Number(answer?.first.split(' ')[1])
  return Number.isNaN(status) ? undefined : status
}

export function codeOf({ answer }: Ask): string | undefined {
  return /"code":\s?"(\w+)"/.exec(answer?.body.toString('latin1', 0, 4_000) ?? '')?.[1]
}

/** The gateway's name of it. */
export function idOf({ answer }: Ask): string | undefined {
  return answer?.headers.get('x-request-id')
}

/** A stored answer to an earlier request. */
export function isReplay({ answer }: Ask): boolean {
  return answer?.headers.get('idempotent-replayed') === 'true'
}

/** Whatever was made for it, or for the same request at another time. */
export function made(ask: Ask): readonly Picture[] {
  return ask.first.arrivals.flatMap(arrival => arrival.made)
}

/** The pictures that the caller has whole. */
export function had(ask: Ask, pictures: readonly Picture[] = made(ask)): readonly Picture[] {
  const text = ask.answer?.body.toString('latin1') ?? ''
  if (text === '') return []
  const joined = ask.wish.operation === 'sketch' ? text + joinTexts(text) : text
  return pictures.filter(picture => joined.includes(picture.proof))
}

/** The texts of a stream as its reader joins them. */
function joinTexts(stream: string): string {
  return ['content', 'reasoning']
    .map(name => Array.from(stream.matchAll(new RegExp(`"${name}":"([^"]*)"`, 'g')), ([, text]) => text).join(''))
    .join(' ')
}

export function isImages({ wish }: Ask): boolean {
  return wish.operation === 'image' || ['edit', 'responses', 'sketch'].includes(wish.operation)
}

/** Asked more than once: which answer belongs to whom only the gateway knows. */
export function isRepeated(asks: readonly Ask[], ask: Ask): boolean {
  return asks.some(one => one !== ask && one.first === ask.first)
}
