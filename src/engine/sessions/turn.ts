import { type Json, readField, type Reply, Slots, type Stage } from '../../domain/index.ts'
import type { Outcome, RequestContext, Target } from '../../plugin-api/index.ts'
import { createNotes } from '../begin-request.ts'
import { fail } from '../errors.ts'
import { scanObject } from '../fields.ts'
import { toLogRow } from '../log-row.ts'
import type { SessionHost } from './session-host.ts'

/** The estimated usage of a turn at its admission. */
export type Foreseen = {
  readonly inputTokens: number
  readonly outputMax: number | undefined
  /** The number of bytes that the client has sent so far. */
  sentBytes(): number
}

/** One response on a WebSocket. For plugins it is a request with its own id, limits, hold and charge. */
export class Turn {
  readonly context: RequestContext
  readonly target: Target
  readonly admittedTick: number
  readonly #host: SessionHost
  readonly #stages: readonly Stage[]
  #beganTick = 0

  private constructor(host: SessionHost, context: RequestContext, target: Target, stages: readonly Stage[]) {
    this.context = context
    this.target = target
    this.admittedTick = host.clock.tick()
    this.#host = host
    this.#stages = stages
  }

  /** Checks the key again, and reserves limits and money. @throws Failure with nothing reserved */
  static async admit(host: SessionHost, session: RequestContext, on: Target, foreseen: Foreseen): Promise<Turn> {
    const { clock, ids, pipeline } = host
    const now = clock.now()
    const context: RequestContext = {
      ...session,
      id: ids.next('req_', now),
      startedAt: now,
      // The client request id in the turn's log row is the session id.
      head: { ...session.head, headers: { ...session.head.headers, 'x-request-id': session.id } },
      slots: new Slots(),
      notes: createNotes(),
      limits: [],
      answerHeaders: {},
      part: { kind: 'turn', inputTokens: foreseen.inputTokens, sentBytes: () => foreseen.sentBytes() },
    }
    const target = { ...on, body: bodyOf(on, foreseen.outputMax) }
    try {
      await pipeline.onRequest(context)
      await pipeline.onTarget(context, target)
      await pipeline.onAdmit(context, target)
      const reply = await pipeline.onReply(context, opened, target)
      return new Turn(host, context, target, reply.stages)
    } catch (error) {
      await settle(host, context, target, unused)
      throw error
    }
  }

  /** Checks the key again, because a turn may have waited for its start. @throws Failure */
  async recheck(): Promise<void> {
    const { pipeline } = this.#host
    const context: RequestContext = { ...this.context, slots: new Slots(), notes: createNotes(), limits: [] }
    await pipeline.onRequest(context)
    await pipeline.onTarget(context, this.target)
  }

  /** Called when the upstream has started the turn. */
  began(): void {
    this.#beganTick = this.#host.clock.tick()
  }

  /** Releases an unused turn: returns its reservations without writing a log row. */
  async giveBack(): Promise<void> {
    await settle(this.#host, this.context, this.target, unused)
  }

  /** Settles the turn, and writes its log row. `message`: the upstream's report, if any. */
  async end(message: Json | undefined, outcome: Outcome): Promise<void> {
    const host = this.#host
    if (message !== undefined) await this.#read(message)
    await settle(host, this.context, this.target, outcome)
    const view = { target: this.target, call: host.call, marks: host.marks, errorSnippet: undefined }
    const tookMs = host.clock.tick() - (this.#beganTick || this.admittedTick)
    host.record(toLogRow(view, this.context, outcome, tookMs), this.context)
  }

  /** Passes the report through the plugins' stages, as an event of a stream. */
  async #read(message: Json): Promise<void> {
    const event = Buffer.from(`data: ${JSON.stringify(message)}\n\n`)
    for (const stage of this.#stages) {
      await stage.write(Buffer.from(event))
      await stage.end?.()
    }
  }
}

const opened: Reply = { status: 200, headers: { 'content-type': 'text/event-stream' }, stages: [], endUnknown: false }

const unused: Outcome = { kind: 'refused', status: 409, failure: fail('session_unused'), reach: 'untouched' }

function bodyOf({ model, body: setup }: Target, outputMax: number | undefined): Target['body'] {
  // Input and output may be audio, so the hold uses audio prices if the model has any.
  const tools = readField(setup, 'tools')
  const body = {
    model: model.name,
    modalities: ['text', 'audio'],
    ...(outputMax !== undefined && { max_output_tokens: outputMax }),
    // Tools that run at the upstream have their own prices.
    ...(tools !== undefined && { tools }),
  }
  return { kind: 'json', json: scanObject(Buffer.from(JSON.stringify(body))) }
}

async function settle(host: SessionHost, context: RequestContext, target: Target, outcome: Outcome): Promise<void> {
  await host.pipeline.onSettle(context, outcome, target, host.onFault)
}
