import type { Message } from '../world/http-wire.ts'
import type { Ill } from './ills.ts'

/** A picture that an upstream made: its bytes and its link are unique. */
export type Picture = {
  readonly width: number
  readonly height: number
  /** A text that only a caller with the complete picture has. */
  readonly proof: string
}

/** The usage that an upstream reports. */
export type Usage = { readonly input: number; readonly cached: number; readonly output: number }

/** `sketch`: a chat with a model that makes images. */
export type Operation = 'image' | 'edit' | 'chat' | 'sketch' | 'responses' | 'embeddings'

/** A caller's request, drawn in advance. */
export type Wish = {
  readonly key: number
  readonly operation: Operation
  readonly model: string
  readonly n: number
  readonly size: string | undefined
  readonly stream: boolean
  /** Requests links, if the family supports them. */
  readonly render: 'url' | 'b64_json' | undefined
  readonly includeUsage: boolean
  /** Size in bytes of each file of an edit. */
  readonly files: readonly number[]
  /** The shapes of the answers to the first, second … upstream call. */
  readonly shapes: readonly string[]
  readonly wire: string
  /** The content coding of the answer, which the client did not request. */
  readonly coding: string | undefined
  readonly idempotency: string | undefined
  /** The earlier request that this one repeats. */
  readonly again: number | undefined
  /** Milliseconds after which the caller disconnects; undefined for a caller who stays. */
  readonly leaves: number | undefined
  /** Bytes of the answer after which the caller disconnects. */
  readonly leavesBytes: number | undefined
  /** `keep`: on a reused connection, which stays open; `pipeline`: even before its last request has ended. */
  readonly connection: 'close' | 'keep' | 'pipeline'
  /** The seed for the rest of the answer. */
  readonly seed: number
}

/** A request as an upstream received it. */
export type Arrival = {
  readonly at: number
  readonly host: string
  /** The life of the gateway. */
  readonly life: number
  readonly shape: string
  /** The vendor's key that it used, if the vendor has several. */
  readonly secret: string | undefined
  /** The ill of that key. */
  readonly ill: Ill | undefined
  readonly made: readonly Picture[]
  /** Whether the gateway promises to recognise the shape. */
  readonly known: boolean
  /** A definite refusal: no work was begun. */
  readonly refusal: boolean
  /** Whether the answer is an error, without usable content. */
  readonly failed: boolean
  readonly usage: Usage | undefined
  /** Whether it reports no usage, or an impossible one. */
  readonly odd: 'unsaid' | 'absurd' | undefined
  /** Bytes of the generated text, and of the complete request. */
  readonly textBytes: number
  readonly requestBytes: number
  /** The body of the answer, if it was sent completely. */
  body: string
  /** The time of the last byte; undefined if it was never sent. */
  wholeAt: number | undefined
  /** The time at which the gateway closed the connection before that. */
  cutOffAt: number | undefined
}

/** The validity of a caller's key, by the acknowledgements that callers have received. */
export type Entry =
  | { readonly kind: 'present' }
  /** The key was disabled by a change that was committed at this time. */
  | { readonly kind: 'disabled'; readonly since: number }
  /** The secret was replaced at this time, and remains valid for this many milliseconds. */
  | { readonly kind: 'replaced'; readonly since: number; readonly overlapMs: number }

/** One request of a caller, and all of its results. */
export type Ask = {
  readonly no: number
  readonly wish: Wish
  /** The first of the repetitions of this request; itself if there is no earlier one. Arrivals are stored there. */
  readonly first: Ask
  readonly sentAt: number
  readonly sentWall: number
  /** The life of the gateway that it was sent to. */
  readonly life: number
  /** The secret that it used: the current one, or one that was replaced or disabled. */
  entry: Entry
  readonly arrivals: Arrival[]
  /** The time at the gateway is known only up to this interval. */
  endedAt: number | undefined
  left: boolean
  /** Why its failure is not the gateway's fault. */
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

/** The gateway's id of the request. */
export function idOf({ answer }: Ask): string | undefined {
  return answer?.headers.get('x-request-id')
}

/** Whether the answer is a stored answer to an earlier request. */
export function isReplay({ answer }: Ask): boolean {
  return answer?.headers.get('idempotent-replayed') === 'true'
}

/** Everything that was made for it, or for a repetition of it. */
export function made(ask: Ask): readonly Picture[] {
  return ask.first.arrivals.flatMap(arrival => arrival.made)
}

/** The pictures that the caller has received completely. */
export function had(ask: Ask, pictures: readonly Picture[] = made(ask)): readonly Picture[] {
  const text = ask.answer?.body.toString('latin1') ?? ''
  if (text === '') return []
  const joined = ask.wish.operation === 'sketch' ? text + joinTexts(text) : text
  return pictures.filter(picture => joined.includes(picture.proof))
}

/** The texts of a stream, joined as its reader does. */
function joinTexts(stream: string): string {
  return ['content', 'reasoning']
    .map(name => Array.from(stream.matchAll(new RegExp(`"${name}":"([^"]*)"`, 'g')), ([, text]) => text).join(''))
    .join(' ')
}

export function isImages({ wish }: Ask): boolean {
  return wish.operation === 'image' || ['edit', 'responses', 'sketch'].includes(wish.operation)
}

/** Sent more than once: only the gateway knows which answer belongs to which request. */
export function isRepeated(asks: readonly Ask[], ask: Ask): boolean {
  return asks.some(one => one !== ask && one.first === ask.first)
}
