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

/** What an exchange with an upstream needs to know. */
export type Terms = {
  readonly reading: Reading
  readonly metadata: ResponseMetadata
  /** Requests, each with its number. */
  readonly asks: readonly ((asker: UpstreamClient) => Promise<Answer>)[]
  /** Some of it may have gone out before: what is missing now, and not by the upstream's word, would give its place to another. */
  readonly hasBegun: () => boolean
  /** So many of them at once. */
  readonly atOnce: number
  /** Name of the events that carry pictures, where the caller wants a stream. */
  readonly event: string | undefined
  /** What becomes of links; undefined where they are handed on. */
  readonly links: LinkRule | undefined
  /** Seconds since the epoch. */
  readonly created: number
  readonly claim: MemoryClaim
  /** Called once, when all has been read. */
  readonly onUsage: (usage: { readonly [name: string]: number }) => void
  readonly onUnrecognised: (shape: string) => void
  /** Once, when nothing more is read; with what ended it early. */
  readonly onEnd: (error?: unknown) => void
}

/** Calls an upstream by its description, and answers in the one API format that all later code reads. */
export function createConverse(terms: Terms): CallUpstream {
  return async asker => {
    const answer = speak(asker, terms)
    try {
      // Until the first picture has begun, a refusal is an answer of its own.
      const first = await answer.next()
      return spoken(terms, first, answer)
    } catch (error) {
      terms.onEnd(error)
      if (error instanceof Refused) return refusal(error)
      throw error
    }
  }
}

function spoken(terms: Terms, first: IteratorResult<Buffer>, rest: AsyncGenerator<Buffer>): PluginResponse {
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

/** The answers of all requests as one; what is common to all goes before the last word. */
async function* speak(asker: UpstreamClient, terms: Terms): AsyncGenerator<Buffer> {
  const { reading, metadata, event, created } = terms
  const { links } = terms
  const writer = new PictureWriter(metadata, {
    created,
    event,
    follows: links !== undefined,
    // Where a vendor numbers its events, each picture goes on at once.
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
  const spoken = readAll(asker, terms, reader)
  if (reading.waits) yield* hear(spoken, terms.claim, writer)
  else yield* spoken
  const usage = sums.usage.size > 0 ? Object.fromEntries(sums.usage) : undefined
  if (usage) terms.onUsage(usage)
  writer.finish({ usage, words: sums.words })
  yield* writer.take() as Buffer[]
}

/** All of it, before any of it goes on; pictures that came before something went wrong have come all the same. */
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

/** Every request's answer in turn. Of several some may fail: what came is the answer. @throws the first failure where nothing came */
async function* readAll(asker: UpstreamClient, terms: Terms, reader: Reader): AsyncGenerator<Buffer> {
  const { asks, atOnce } = terms
  const waiting: Promise<Answer>[] = []
  let failure: unknown
  let isGivenUp = false
  for (let i = 0; i < asks.length; i++) {
    const until = isGivenUp ? 0 : Math.min(i + atOnce, asks.length)
    while (waiting.length < until) waiting.push(begin(asker, asks, waiting.length))
    const asked = waiting[i]
    if (!asked) break
    try {
      yield* readAnswer(await asked, reader)
    } catch (error) {
      const isWhole = error instanceof Refused || (error instanceof Failure && !reader.writer.isOpen)
      const isMissing = terms.hasBegun() && !isUpstreamsWord(error)
      if (!isWhole || isMissing || asks.length === 1) throw recognised(error, terms)
      // A refusal of one reveals nothing about another whose outcome is unknown.
      if (failure === undefined || (failure instanceof Refused && !(error instanceof Refused))) failure = error
      // An upstream that refuses one refuses all: for a refused key, or a quota that is used up.
      isGivenUp ||= error instanceof Refused && error.isFinal
    }
  }
  if (reader.writer.count === 0 && failure !== undefined) throw recognised(failure, terms)
}

/** That there is nothing: so there was nothing before. */
function isUpstreamsWord(error: unknown): boolean {
  return error instanceof Refused ? error.endsJob : error instanceof Failure && error.code === 'job_timeout'
}

function begin(asker: UpstreamClient, asks: Terms['asks'], i: number): Promise<Answer> {
  const asked = (asks[i] as Terms['asks'][number])(asker)
  asked.catch(() => undefined)
  return asked
}

function recognised(error: unknown, { onUnrecognised }: Terms): unknown {
  const shape = shapeOf(error)
  if (shape !== undefined) onUnrecognised(shape)
  return error
}
