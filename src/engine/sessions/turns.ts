import { Failure, type Json, type Model } from '../../domain/index.ts'
import type { Outcome, RequestContext, SessionSign, Target } from '../../plugin-api/index.ts'
import { fail, modelNotFound } from '../errors.ts'
import type { SessionHost } from './session-host.ts'
import { Turn } from './turn.ts'

/** A turn that was admitted longer ago is admitted again before it begins: limits are of a minute. */
const renewMs = 30_000
/** Shorter waits for a limit cost as much as they save. */
const waitMinMs = 100
/** Turns at once on one session; more of them end it. */
const openMax = 64

/**
 * The turns of one session. One is always admitted ahead, since a voice may begin one without a message of the caller; each message
 * that begins a turn needs one more. Nothing is read from the caller while one is missing.
 */
export class Turns {
  /** By the caller. */
  sentBytes = 0
  readonly #host: SessionHost
  readonly #session: RequestContext
  readonly #target: Target
  readonly #onRefused: (error: unknown) => void
  readonly #spares: Turn[] = []
  /** Those that run, by the upstream's ids. One may still be waiting to be admitted. */
  readonly #open = new Map<string, Promise<Turn>>()
  /** The model next to the session's own, and the turns that were admitted for it. */
  #beside: Target | undefined
  readonly #besideSpares: Turn[] = []
  /** Messages that went on and whose turns have not begun. */
  #awaited = 0
  #outputMax: number | undefined
  /** Tokens that the conversation came to last. */
  #inputTokens = 0
  readonly #ending = new Set<Promise<void>>()
  #isOver = false
  /** Ends what waits for a limit. */
  readonly #stopped = new AbortController()

  /** @param onRefused called when a turn runs that may not */
  constructor(host: SessionHost, session: RequestContext, target: Target, onRefused: (error: unknown) => void) {
    this.#host = host
    this.#session = session
    this.#target = target
    this.#onRefused = onRefused
  }

  /** The upstream's ids of those that run. */
  get open(): readonly string[] {
    return [...this.#open.keys()]
  }

  get isIdle(): boolean {
    return this.#open.size === 0
  }

  /** Whether a caller's messages that begin `more` turns may go on now. */
  covers(more: number): boolean {
    if (this.#spares.length < this.#wanted(more) || this.#isStale) return false
    return !this.#beside || this.#besideSpares.length > 0
  }

  /** While one runs, only a message of the caller begins another. */
  #wanted(asked: number): number {
    return Math.max(this.#open.size === 0 ? 1 : 0, this.#awaited + asked)
  }

  get #isStale(): boolean {
    const now = this.#host.clock.tick()
    return [this.#spares[0], this.#besideSpares[0]].some(one => one && now - one.admittedTick > renewMs)
  }

  /**
   * Admits what is missing. A limit of a minute is waited for.
   * @param onWait called once for each wait, with the refusal
   * @throws Failure
   */
  async cover(asked: number, onWait: (failure: Failure) => void): Promise<void> {
    // What has ended gives its money back first.
    await Promise.all(this.#ending)
    await this.#dropStale(this.#spares)
    await this.#dropStale(this.#besideSpares)
    while (!this.#isOver && this.#spares.length < this.#wanted(asked))
      await this.#admit(this.#target, this.#spares, onWait)
    while (!this.#isOver && this.#beside && this.#besideSpares.length === 0)
      await this.#admit(this.#beside, this.#besideSpares, onWait)
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

  /** A caller's messages went on that begin turns. */
  asked(count: number): void {
    this.#awaited += count
  }

  /** @throws Failure where a turn runs that nothing was taken for */
  read(sign: SessionSign, message: Json): void {
    if (sign.kind === 'began') this.#began(sign.id)
    else if (sign.kind === 'ended') this.#ended(sign, message)
    else if (sign.kind === 'beside') this.#besideEnded(sign.failed, message)
    else if (sign.kind === 'refused') this.#awaited = Math.max(0, this.#awaited - 1)
    else this.#settings(sign)
  }

  #began(id: string): void {
    if (this.#open.has(id)) return
    if (this.#open.size >= openMax) throw fail('session_unmetered', { why: `more than ${openMax} turns run at once` })
    this.#awaited = Math.max(0, this.#awaited - 1)
    const turn = this.#take(this.#spares, this.#target)
    this.#open.set(id, turn)
    turn.then(one => one.began()).catch(() => undefined)
  }

  /** One that was admitted ahead; else one is admitted now, and the session ends when it may not be. */
  #take(spares: Turn[], target: Target): Promise<Turn> {
    const spare = spares.shift()
    if (spare) return Promise.resolve(spare)
    const late = this.#admitOne(target)
    late.catch(this.#onRefused)
    return late
  }

  #ended({ id, failed }: { readonly id: string; readonly failed: boolean }, message: Json): void {
    // One whose beginning was not reported has ended all the same.
    const turn = this.#open.get(id) ?? this.#take(this.#spares, this.#target)
    this.#open.delete(id)
    this.#close(turn, message, failed)
  }

  #besideEnded(failed: boolean, message: Json): void {
    if (!this.#beside) throw fail('session_unmetered', { why: 'a model was used that the session did not name' })
    this.#close(this.#take(this.#besideSpares, this.#beside), message, failed)
  }

  #close(turning: Promise<Turn>, message: Json, failed: boolean): void {
    const outcome: Outcome = failed
      ? { kind: 'cut', by: 'upstream', status: 200, reach: 'truncated' }
      : { kind: 'answered', status: 200, reach: 'complete' }
    this.#track(turning.then(turn => this.#settle(turn, message, outcome)))
  }

  async #settle(turn: Turn, message: Json, outcome: Outcome): Promise<void> {
    await turn.end(message, outcome)
    const { inputTokens, outputTokens } = turn.context.notes
    if (turn.target.model === this.#target.model) this.#inputTokens = (inputTokens ?? 0) + (outputTokens ?? 0)
  }

  #settings({ beside, outputMax }: Extract<SessionSign, { kind: 'settings' }>): void {
    this.#outputMax = outputMax
    if (beside === undefined) return
    const model = beside === null ? undefined : this.#findModel(beside)
    if (model?.name === this.#beside?.model.name) return
    const left = this.#besideSpares.splice(0)
    if (left.length > 0) this.#track(Promise.all(left.map(one => one.giveBack())))
    this.#beside = model && { ...this.#target, model, family: model.family }
  }

  /** By the upstream's name for it, or by ours. @throws Failure model_not_found */
  #findModel(name: string): Model {
    const { models } = this.#session.plan
    const { upstream } = this.#target
    const own = models.get(name)
    if (own?.enabled) return own
    for (const model of models.values())
      if (model.enabled && model.upstreams.some(one => one.upstream.name === upstream.name && one.sendAs === name))
        return model
    throw modelNotFound(name, 'session.audio.input.transcription.model')
  }

  #track(ending: Promise<unknown>): void {
    const { log } = this.#host
    const tracked: Promise<void> = ending.then(
      () => undefined,
      (error: unknown) => {
        // A refusal has ended the session, which reports it.
        if (error instanceof Failure) return
        const stack = error instanceof Error ? error.stack : String(error)
        log.error({ request: this.#session.id, stack }, 'a turn could not be settled')
      },
    )
    this.#ending.add(tracked)
    void tracked.then(() => this.#ending.delete(tracked))
  }

  /** The session is over: what was not used is given back, and what runs ends as `outcome` says. */
  async end(outcome: Outcome): Promise<void> {
    this.#isOver = true
    this.#stopped.abort()
    for (const turn of [...this.#spares.splice(0), ...this.#besideSpares.splice(0)]) this.#track(turn.giveBack())
    for (const turning of this.#open.values()) this.#track(turning.then(turn => turn.end(undefined, outcome)))
    this.#open.clear()
    await Promise.all(this.#ending)
  }
}
