import type { EventStore, FeedEvent, Retry, WebhookConfig } from '../domain/index.ts'
import type { Log } from '../plugin-api/index.ts'
import type { Clock } from '../util/index.ts'
import { Mailer } from './mail.ts'
import { failed, Poster, type Sent } from './post.ts'
import { nextTryAt } from './schedule.ts'
import { slackBody, standardBody } from './write-body.ts'
import { createHmac } from 'node:crypto'

const prefix = 'whsec_'

/**
 * The headers of Standard Webhooks 1.0: `webhook-id`, `webhook-timestamp` (in seconds, of this try) and
 * `webhook-signature`, with one `v1,` for each secret. Secrets are `whsec_` and Base64.
 */
function signedHeaders(
  { id, body, now }: { readonly id: string; readonly body: string; readonly now: number },
  secrets: readonly string[],
): { readonly [header: string]: string } {
  const seconds = Math.floor(now / 1_000)
  const signatures = secrets.map(secret => {
    const key = Buffer.from(secret.slice(prefix.length), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64')}`
  })
  return { 'webhook-id': id, 'webhook-timestamp': String(seconds), 'webhook-signature': signatures.join(' ') }
}

/** Events of one turn. */
const batchMax = 64
/** The number of events that one receiver gets concurrently. */
const atOnceMax = 8
/** With so many events waiting for a retry, the receiver counts as unavailable, and no new event is sent. */
export const waitingMax = 50

export type WebhookDispatcherParts = {
  readonly events: EventStore
  readonly clock: Clock
  readonly log: Log
  /** Called for each try. */
  tried(this: void, webhook: string, how: 'arrived' | 'failed' | 'given_up'): void
}

/** The delivery results of one turn. */
type Round = { readonly arrived: string[]; readonly retries: Retry[]; hasArrived: boolean }

/** Since when a receiver accepts nothing, in milliseconds since the epoch, and why: a part of a sentence. */
export type Silence = { readonly since: number; readonly why: string }

/**
 * Sends events to one receiver in order, and retries those that did not arrive. The position is written after a
 * delivery, so that an event may arrive twice, but none is left out.
 */
export class WebhookDispatcher {
  readonly #parts: WebhookDispatcherParts
  readonly #poster: Poster
  readonly #mailer: Mailer
  readonly #stop = new AbortController()
  #isOurs = false
  #isAway = false
  #silence: Silence | undefined

  constructor(parts: WebhookDispatcherParts) {
    this.#parts = parts
    this.#poster = new Poster(parts.clock)
    this.#mailer = new Mailer(parts.clock)
  }

  /** Undefined while the receiver accepts events, or has been sent none yet. */
  get silence(): Silence | undefined {
    return this.#silence
  }

  close(): void {
    this.#stop.abort()
    this.#poster.close()
  }

  /** @returns whether there is more to send now. @throws StorageError */
  async turn(receiver: WebhookConfig): Promise<boolean> {
    const { events } = this.#parts
    const { name, kinds } = receiver
    this.#isOurs ||= (await events.webhooks.claim(name)) !== null
    if (!this.#isOurs) {
      // Another process sends to this receiver now.
      this.#silence = undefined
      return false
    }

    const round: Round = { arrived: [], retries: [], hasArrived: false }
    const { due, waiting, through: from } = await events.webhooks.due(name, batchMax)
    if (from === null) return false
    await this.#sendDue(receiver, due, round)
    this.#isAway ||= waiting >= waitingMax
    let through = from
    let isOver = true
    if (waiting < waitingMax) {
      const page = await events.page({ after: from, limit: batchMax, kinds })
      const sent = await this.#sendInOrder(receiver, page.events, round)
      // An unavailable receiver gets the rest later.
      isOver = page.isOver || sent < page.events.length
      through = sent < page.events.length ? (page.events[sent - 1]?.id ?? from) : page.next
    }
    if (this.#stop.signal.aborted) return false
    this.#say(name, round)
    await this.#keep(name, from, through, round)
    return !isOver
  }

  /** Logs when the receiver stops accepting events, and when it accepts them again; tries in between log nothing. */
  #say(webhook: string, { retries, hasArrived }: Round): void {
    const { clock, log } = this.#parts
    const why = retries.at(-1)?.why
    if (hasArrived) {
      if (this.#silence) log.info({ webhook, since: isoOf(this.#silence.since) }, 'a webhook accepts events again')
      this.#silence = undefined
    } else if (why !== undefined) {
      if (!this.#silence) log.warn({ webhook, why }, 'a webhook does not accept events; they are queued and retried')
      this.#silence = { since: this.#silence?.since ?? clock.now(), why }
    }
  }

  async #keep(webhook: string, from: string, through: string, { arrived, retries, hasArrived }: Round): Promise<void> {
    if (through === from && arrived.length === 0 && retries.length === 0) return
    const isBack = this.#isAway && hasArrived
    const deliveries = { webhook, from, through, arrived, retries, isBack }
    // Another process sends to it now, or an administrator has set its position: the next turn reads it.
    this.#isOurs = await this.#parts.events.webhooks.keep(deliveries)
    if (isBack) this.#isAway = false
  }

  async #sendDue(receiver: WebhookConfig, due: readonly Retry[], round: Round): Promise<void> {
    for (let at = 0; at < due.length; at += atOnceMax) {
      const some = due.slice(at, at + atOnceMax)
      await Promise.all(
        some.map(async ({ event: id, tries }) => {
          const event = await this.#parts.events.find(id)
          const sent: Sent = event ? await this.#send(receiver, event) : { kind: 'arrived' }
          if (sent.kind === 'arrived') round.arrived.push(id)
          this.#note(receiver, id, tries, sent, round)
        }),
      )
      if (this.#stop.signal.aborted || !round.hasArrived) return
    }
  }

  /** @returns how many were sent, or are sent again later; those after them have not been tried */
  async #sendInOrder(receiver: WebhookConfig, events: readonly FeedEvent[], round: Round): Promise<number> {
    for (let at = 0; at < events.length; at += atOnceMax) {
      const some = events.slice(at, at + atOnceMax)
      const sent = await Promise.all(some.map(event => this.#send(receiver, event)))
      if (this.#stop.signal.aborted) return at
      some.forEach(({ id }, i) => this.#note(receiver, id, 0, sent[i] as Sent, round))
      if (sent.some(({ kind }) => kind === 'arrived')) continue
      this.#isAway = true
      return at + some.length
    }
    return events.length
  }

  #note({ name }: WebhookConfig, event: string, before: number, sent: Sent, round: Round): void {
    if (sent.kind === 'left') return
    if (sent.kind === 'arrived') {
      round.hasArrived = true
      this.#parts.tried(name, 'arrived')
      return
    }
    const { clock, log, tried } = this.#parts
    const tries = before + 1
    const nextAt = nextTryAt(tries, clock.now(), sent.laterMs)
    round.retries.push({ event, tries, nextAt, why: sent.why })
    tried(name, nextAt === null ? 'given_up' : 'failed')
    if (nextAt === null)
      log.error({ webhook: name, event, tries, why: sent.why }, 'an event was dropped: its webhook did not accept it')
  }

  async #send(receiver: WebhookConfig, event: FeedEvent): Promise<Sent> {
    const { clock } = this.#parts
    const { signal } = this.#stop
    try {
      if (receiver.format === 'email') {
        const { from = '', to = [] } = receiver
        return await this.#mailer.send(receiver, { from, to, event }, signal)
      }
      if (receiver.format === 'slack') return await this.#poster.post(receiver, slackBody(event), {}, signal)
      const body = standardBody(event)
      const headers = signedHeaders({ id: event.id, body, now: clock.now() }, receiver.secrets)
      return await this.#poster.post(receiver, body, headers, signal)
    } catch (error) {
      return failed(error instanceof Error ? error.message : String(error))
    }
  }
}

function isoOf(at: number): string {
  return new Date(at).toISOString()
}
