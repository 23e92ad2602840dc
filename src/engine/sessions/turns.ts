import { aliasesOf, Failure, type Json, type Model } from '../../domain/index.ts'
import type { Outcome, RequestContext, SessionSign, Target } from '../../plugin-api/index.ts'
import { fail, modelNotFound } from '../errors.ts'
import type { SessionHost } from './session-host.ts'
import { Turn } from './turn.ts'

/** The age at which an unused turn is admitted again, because limits apply to one minute. */
const renewMs = 30_000
/** The minimum wait for a limit. */
const waitMinMs = 100
/** The maximum number of concurrent turns on one session; more of them end it. */
const openMax = 64
/** The number of ended turns whose repeated reports are ignored. */
const endedMax = 64

type Options = {
  /** Whether turns never overlap, so that several messages start at most one turn. */
  readonly isSerial: boolean
  /**
   * Whether only the second model runs. The session's own model is the target until the settings name the second one.
   */
  readonly isSecondOnly: boolean
  readonly outputMax: number | undefined
  /** Called if a running turn is not admitted. */
  onRefused(error: unknown): void
}

type TurnSign = Exclude<SessionSign, { readonly kind: 'ready' | 'handle' }>

/**
 * The turns of one session. While none is running, one spare turn is admitted in advance, because voice detection may
 * start a turn without a client message. Each client message that starts a turn needs another one. While a turn is
 * missing, the client is not read.
 */
export class Turns {
  /** The number of bytes that the client has sent. */
  sentBytes = 0
  readonly #host: SessionHost
  readonly #session: RequestContext
  readonly #target: Target
  readonly #options: Options
  readonly #spares: Turn[] = []
  /** Running turns by the upstream's id. A turn may still be waiting for its admission. */
  readonly #open = new Map<string, Promise<Turn>>()
  /** Upstream's ids of ended turns, the oldest first: an upstream may repeat a report. */
  readonly #ended = new Set<string>()
  /** The session's second model, such as one for transcription, and the spare turns for it. */
  #second: Target | undefined
  readonly #secondSpares: Turn[] = []
  /** The number of forwarded messages whose turns have not started. */
  #awaited = 0
  #outputMax: number | undefined
  /** The number of tokens in the conversation after its last turn. */
  #inputTokens = 0
  readonly #ending = new Set<Promise<void>>()
  #isOver = false
  /** Cancels waits for a limit. */
  readonly #stopped = new AbortController()

  constructor(host: SessionHost, session: RequestContext, target: Target, options: Options) {
    this.#host = host
    this.#session = session
    this.#target = target
    this.#options = options
    if (options.isSecondOnly) this.#second = target
    this.#outputMax = options.outputMax
  }

  /** The upstream's ids of the running turns. */
  get open(): readonly string[] {
    return [...this.#open.keys()]
  }

  get isIdle(): boolean {
    return this.#open.size === 0
  }

  /** Whether client messages that start `more` turns may be forwarded now. */
  covers(more: number): boolean {
    if (this.#spares.length < this.#wanted(more) || this.#isStale) return false
    return !this.#second || this.#secondSpares.length > 0
  }

  /** The number of required spare turns. While a turn is running, only a client message starts another one. */
  #wanted(requested: number): number {
    if (this.#options.isSecondOnly) return 0
    const coming = this.#awaited + requested
    return Math.max(this.#open.size === 0 ? 1 : 0, this.#options.isSerial ? Math.min(1, coming) : coming)
  }

  get #isStale(): boolean {
    const now = this.#host.clock.tick()
    return [this.#spares[0], this.#secondSpares[0]].some(one => one && now - one.admittedTick > renewMs)
  }

  /**
   * Admits the missing turns. Waits if a limit allows a retry.
   * @param onWait called before each wait, with the refusal
   * @throws Failure
   */
  async cover(requested: number, onWait: (failure: Failure) => void): Promise<void> {
    // Lets ended turns release their holds first.
    await Promise.all(this.#ending)
    await this.#dropStale(this.#spares)
    await this.#dropStale(this.#secondSpares)
    while (!this.#isOver && this.#spares.length < this.#wanted(requested))
      await this.#admit(this.#target, this.#spares, onWait)
    while (!this.#isOver && this.#second && this.#secondSpares.length === 0)
      await this.#admit(this.#second, this.#secondSpares, onWait)
  }

  async #admit(target: Target, spares: Turn[], onWait: (failure: Failure) => void): Promise<void> {
    const { clock } = this.#host
    for (;;) {
      try {
        const turn = await this.#admitOne(target)
        if (this.#isOver) await turn.giveBack()
        else spares.push(turn)
        return
      } catch (error) {
        if (!(error instanceof Failure) || error.status !== 429 || error.retryAfterMs === undefined) throw error
        if (this.#isOver) return
        onWait(error)
        await clock.sleep(Math.max(waitMinMs, error.retryAfterMs), this.#stopped.signal)
      }
    }
  }

  #admitOne(target: Target): Promise<Turn> {
    const foreseen = {
      inputTokens: this.#inputTokens,
      outputMax: this.#outputMax,
      sentBytes: () => this.sentBytes,
    }
    return Turn.admit(this.#host, this.#session, target, foreseen)
  }

  async #dropStale(spares: Turn[]): Promise<void> {
    const now = this.#host.clock.tick()
    const stale = spares.filter(one => now - one.admittedTick > renewMs)
    if (stale.length === 0) return
    spares.splice(0, spares.length, ...spares.filter(one => !stale.includes(one)))
    await Promise.all(stale.map(one => one.giveBack()))
  }

  /** Counts forwarded messages that start turns. */
  addAwaited(count: number): void {
    this.#awaited = this.#options.isSerial ? Math.min(1, this.#awaited + count) : this.#awaited + count
  }

  /** @throws Failure for a turn that cannot be charged */
  read(sign: TurnSign, message: Json): void {
    if (sign.kind === 'began') this.#began(sign.id)
    else if (sign.kind === 'ended') this.#turnEnded(sign, message)
    else if (sign.kind === 'second_ended') this.#secondEnded(sign, message)
    else if (sign.kind === 'refused') this.#awaited = Math.max(0, this.#awaited - 1)
    else this.#settings(sign)
  }

  #began(id: string): void {
    if (this.#open.has(id)) return
    if (this.#open.size >= openMax) throw fail('session_unmetered', { why: `more than ${openMax} turns run at once` })
    this.#awaited = Math.max(0, this.#awaited - 1)
    this.#ended.delete(id)
    const turn = this.#take(this.#spares, this.#target)
    this.#open.set(id, turn)
    turn.then(one => one.began()).catch(() => undefined)
  }

  /** Takes a spare turn. Without one, admits a turn now; if the key or the turn is refused, the session ends. */
  #take(spares: Turn[], target: Target): Promise<Turn> {
    const spare = spares.shift()
    const turn = spare ? Promise.resolve(spare) : this.#admitOne(target)
    const checked = spare ? spare.recheck() : turn
    checked.catch((error: unknown) => this.#options.onRefused(error))
    return turn
  }

  #turnEnded({ id, failed, report }: Extract<SessionSign, { kind: 'ended' }>, message: Json): void {
    if (this.#hasEnded(id)) return
    // The upstream may not have reported the start of the turn.
    const turn = this.#open.get(id) ?? this.#take(this.#spares, this.#target)
    this.#open.delete(id)
    this.#close(turn, report === undefined ? message : (report ?? undefined), failed)
  }

  /** Whether the turn has ended before; from now on, it has. */
  #hasEnded(id: string): boolean {
    if (id === '') return false
    if (this.#ended.has(id)) return true
    this.#ended.add(id)
    const [oldest] = this.#ended
    if (this.#ended.size > endedMax && oldest !== undefined) this.#ended.delete(oldest)
    return false
  }

  #secondEnded({ id, failed }: Extract<SessionSign, { kind: 'second_ended' }>, message: Json): void {
    if (this.#hasEnded(id)) return
    if (!this.#second)
      throw fail('session_unmetered', { why: 'it reports a model that the session settings do not name' })
    this.#close(this.#take(this.#secondSpares, this.#second), message, failed)
  }

  #close(turning: Promise<Turn>, message: Json | undefined, failed: boolean): void {
    const outcome: Outcome = failed
      ? { kind: 'cut', by: 'upstream', status: 200, reach: 'truncated' }
      : { kind: 'answered', status: 200, reach: 'complete' }
    this.#track(turning.then(turn => this.#settle(turn, message, outcome)))
  }

  async #settle(turn: Turn, message: Json | undefined, outcome: Outcome): Promise<void> {
    await turn.end(message, outcome)
    const { inputTokens, outputTokens } = turn.context.notes
    if (turn.target.model === this.#target.model) this.#inputTokens = (inputTokens ?? 0) + (outputTokens ?? 0)
  }

  #settings({ secondModel: second, outputMax }: Extract<SessionSign, { kind: 'settings' }>): void {
    this.#outputMax = outputMax
    if (second === undefined) return
    const model = second === null ? undefined : this.#findModel(second)
    if (model?.name === this.#second?.model.name) return
    const left = this.#secondSpares.splice(0)
    if (left.length > 0) this.#track(Promise.all(left.map(one => one.giveBack())))
    this.#second = model && { ...this.#target, model, family: model.family }
  }

  /** Finds a model by the gateway's or the upstream's name. @throws Failure model_not_found */
  #findModel(name: string): Model {
    const { plan } = this.#session
    const { models } = plan
    const alias = aliasesOf(this.#session)?.get(name)
    const { upstream } = this.#target
    const own = models.get(alias ?? name)
    if (own?.enabled) return own
    for (const model of models.values())
      if (model.enabled && model.upstreams.some(one => one.upstream.name === upstream.name && one.sendAs === name))
        return model
    throw modelNotFound(plan, name, 'session.audio.input.transcription.model')
  }

  #track(ending: Promise<unknown>): void {
    const { log } = this.#host
    const tracked: Promise<void> = ending.then(
      () => undefined,
      (error: unknown) => {
        // A refusal has already ended the session, which reports it.
        if (error instanceof Failure) return
        const stack = error instanceof Error ? error.stack : String(error)
        log.error({ request: this.#session.id, stack }, 'a turn could not be settled')
      },
    )
    this.#ending.add(tracked)
    void tracked.then(() => this.#ending.delete(tracked))
  }

  /** Ends the session: releases spare turns and settles running ones with `outcome`. */
  async end(outcome: Outcome): Promise<void> {
    this.#isOver = true
    this.#stopped.abort()
    for (const turn of [...this.#spares.splice(0), ...this.#secondSpares.splice(0)]) this.#track(turn.giveBack())
    for (const turning of this.#open.values()) this.#track(turning.then(turn => turn.end(undefined, outcome)))
    this.#open.clear()
    await Promise.all(this.#ending)
  }
}
