import {
  type UpstreamClient,
  type CallUpstream,
  Failure,
  type PluginResponse,
  type ResponseMetadata,
} from '../../src/plugin-api/index.ts'
import { type MemoryClaim, PictureWriter } from '../../src/wire/index.ts'
import type { Reading } from './describe.ts'
import { fail, shapeOf } from './errors.ts'
import { follow, type LinkRule } from './follow-link.ts'
import { type Answer, readAnswer, type Reader } from './read-answer.ts'
import { Refused } from './refused.ts'

/** The inputs of an exchange with an upstream. */
export type Terms = {
  readonly reading: Reading
  readonly metadata: ResponseMetadata
  /** The requests, each with its index. */
  readonly asks: readonly ((asker: UpstreamClient) => Promise<Answer>)[]
  /**
   * Whether pictures may have been sent before: then an answer that is missing now, unless the upstream itself reports
   * that, would leave its place to another picture.
   */
  readonly hasBegun: () => boolean
  /** The maximum number of simultaneous requests. */
  readonly atOnce: number
  /** Name of the events with pictures, if the client wants a stream. */
  readonly event: string | undefined
  /** How to handle links; undefined to forward them. */
  readonly links: LinkRule | undefined
  /** Seconds since the epoch. */
  readonly created: number
  readonly claim: MemoryClaim
  /** Called once, after the whole answer was read. */
  readonly onUsage: (usage: { readonly [name: string]: number }) => void
  readonly onUnrecognised: (shape: string) => void
  /** Called once, when nothing more is read; with the error that ended it early. */
  readonly onEnd: (error?: unknown) => void
}

/** Calls an upstream by its description, and returns the answer in the one API format that all later code reads. */
export function createCall(terms: Terms): CallUpstream {
  return async asker => {
    const answer = speak(asker, terms)
    try {
      // Until the first picture has begun, a refusal is a separate answer.
      const first = await answer.next()
      return described(terms, first, answer)
    } catch (error) {
      terms.onEnd(error)
      if (error instanceof Refused) return refusal(error)
      throw error
    }
  }
}

function described(terms: Terms, first: IteratorResult<Buffer>, rest: AsyncGenerator<Buffer>): PluginResponse {
  const type = terms.event === undefined ? 'application/json' : 'text/event-stream'
  return { status: 200, headers: { 'content-type': type }, body: goOn(terms, first, rest) }
}

async function* goOn(
  terms: Terms,
  first: IteratorResult<Buffer>,
  rest: AsyncGenerator<Buffer>,
): AsyncGenerator<Buffer> {
  let failure: unknown
  try {
    if (!first.done) yield first.value
    if (!first.done) yield* rest
  } catch (error) {
    failure = error
    throw error instanceof Refused ? error.failure : error
  } finally {
    terms.onEnd(failure)
  }
}

/** A refusal as an answer. */
export function refusal({ status, headers, body }: Refused): PluginResponse {
  return {
    status,
    headers: { ...headers, 'content-type': 'application/json' },
    body: (async function* () {
      yield body
    })(),
  }
}

/** The answers of all requests as one; common facts are written before the end. */
async function* speak(asker: UpstreamClient, terms: Terms): AsyncGenerator<Buffer> {
  const { reading, metadata, event, created } = terms
  const { links } = terms
  const writer = new PictureWriter(metadata, {
    created,
    event,
    follows: links !== undefined,
    // If a vendor numbers its events, each picture is forwarded at once.
    waits: reading.stream?.kind !== 'events',
  })
  const sums = { usage: new Map<string, number>(), words: new Map<string, string>() }
  const following = { asker, onHead: (index: number, head: Buffer) => void metadata.heads.set(index, head) }
  const reader: Reader = {
    reading,
    writer,
    metadata,
    sums,
    claim: terms.claim,
    isOneOfSeveral: terms.asks.length > 1,
    follow: link => follow(link, { ...following, rule: links as LinkRule }),
  }
  const described = readAll(asker, terms, reader)
  if (reading.waits) yield* hear(described, terms.claim, writer)
  else yield* described
  const usage = sums.usage.size > 0 ? Object.fromEntries(sums.usage) : undefined
  if (usage) terms.onUsage(usage)
  writer.finish({ usage, words: sums.words })
  yield* writer.take() as Buffer[]
}

/** Reads everything before forwarding any of it; pictures that arrived before an error stay valid. */
async function* hear(
  answer: AsyncGenerator<Buffer>,
  claim: MemoryClaim,
  writer: PictureWriter,
): AsyncGenerator<Buffer> {
  const held: Buffer[] = []
  try {
    for await (const chunk of answer) {
      if (!claim.take(chunk.length)) throw fail('upstream_busy')
      held.push(chunk)
    }
  } catch (error) {
    if (writer.count > 0) yield* held
    throw error
  }
  yield* held
}

/**
 * Reads the answers of all requests one after another. Some of several may fail: the rest is the answer. @throws the
 * first failure if there is no picture
 */
async function* readAll(asker: UpstreamClient, terms: Terms, reader: Reader): AsyncGenerator<Buffer> {
  const { asks, atOnce } = terms
  const waiting: Promise<Answer>[] = []
  let failure: unknown
  let isGivenUp = false
  for (let i = 0; i < asks.length; i++) {
    const until = isGivenUp ? 0 : Math.min(i + atOnce, asks.length)
    while (waiting.length < until) waiting.push(begin(asker, asks, waiting.length))
    const pending = waiting[i]
    if (!pending) break
    try {
      yield* readAnswer(await pending, reader)
    } catch (error) {
      const isWhole = error instanceof Refused || (error instanceof Failure && !reader.writer.isOpen)
      const isMissing = terms.hasBegun() && !isUpstreamsWord(error)
      if (!isWhole || isMissing || asks.length === 1) throw recognised(error, terms)
      // A refusal of one request does not show the outcome of another whose result is unknown.
      if (failure === undefined || (failure instanceof Refused && !(error instanceof Refused))) failure = error
      // An upstream that gives such a refusal refuses all requests: for an invalid key, or an exhausted quota.
      isGivenUp ||= error instanceof Refused && error.isFinal
    }
  }
  if (reader.writer.count === 0 && failure !== undefined) throw recognised(failure, terms)
}

/** Whether the upstream itself reports that there is no picture: then there was none before. */
function isUpstreamsWord(error: unknown): boolean {
  return error instanceof Refused ? error.endsJob : error instanceof Failure && error.code === 'job_timeout'
}

function begin(asker: UpstreamClient, asks: Terms['asks'], i: number): Promise<Answer> {
  const pending = (asks[i] as Terms['asks'][number])(asker)
  pending.catch(() => undefined)
  return pending
}

function recognised(error: unknown, { onUnrecognised }: Terms): unknown {
  const shape = shapeOf(error)
  if (shape !== undefined) onUnrecognised(shape)
  return error
}
