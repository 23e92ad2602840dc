import type { KeyReason, KeyStatus, VendorKey } from '../../domain/index.ts'
import type { Clock } from '../../util/index.ts'
import type { Classification } from '../classify-response/classify.ts'
import { type KeyUser, Suspicions } from './suspicions.ts'

const minuteMs = 60_000
/** How long a limited key is paused if its vendor reports no time; doubled each time after. */
const coolMs = 15_000
const coolMaxMs = 5 * minuteMs
/** The longest pause, whatever the vendor reports. */
const waitMaxMs = 60 * minuteMs
/** How long a key is not used for a model that it does not serve, while another one serves it. */
const modelMs = 10 * minuteMs
/** When a refused key is probed, for free: after so long, and then every hour. */
const probeMs = [1, 5, 15, 60].map(minutes => minutes * minuteMs)
/** When one request tries a key without credit, or one that no probe can verify. */
const trialMs = 30 * minuteMs
/** When a request tries an only key again that another upstream replaces: a refusal is free. */
const onlyTrialMs = { invalid: minuteMs, no_credit: 5 * minuteMs } as const

/** If no other key is left, a suspended one is tried after so long, and twice as long after each failed trial. */
const resortMs = 1_000
const resortMaxMs = 30_000

/** Whether a key may be used now. `trial`: by one request, which decides. */
export type Admission =
  | { readonly kind: 'open' | 'trial' }
  | { readonly kind: 'shut'; readonly reason: KeyReason; readonly waitMs: number | null }

type Parts = {
  readonly clock: Pick<Clock, 'now'>
  /** A key's state has changed; called at once. */
  readonly onChange: (status: KeyStatus, before: KeyStatus | undefined) => void
}

const open: Admission = { kind: 'open' }
const trial: Admission = { kind: 'trial' }

/**
 * The state of every key: active, cooling until some time, or suspended for a reason; as a whole, and for single
 * models.
 */
export class KeyStates {
  readonly #clock: Parts['clock']
  readonly #onChange: Parts['onChange']
  readonly #statuses = new Map<string, KeyStatus>()
  /** When only suspended keys were tried here, by their ids. */
  readonly #tried = new Map<string, number>()
  /** When keys were last tried because no other was left, and how often in a row, by their ids. */
  readonly #resorts = new Map<string, { readonly at: number; readonly inARow: number }>()
  readonly #suspicions: Suspicions

  constructor({ clock, onChange }: Parts) {
    this.#clock = clock
    this.#suspicions = new Suspicions(clock)
    this.#onChange = onChange
  }

  admission(key: VendorKey, model: string): Admission {
    if (this.#statuses.size === 0) return open
    const status = this.#find(key, '')
    if (status && this.#isOnlyDue(key, status)) return trial
    const whole = this.#admissionOf(status)
    return whole.kind === 'open' ? this.#admissionOf(this.#find(key, model)) : whole
  }

  /** An only key needs no probe first: a request finds out what a probe cannot. */
  #isOnlyDue(key: VendorKey, { state, reason, since }: KeyStatus): boolean {
    if (key.isOnly !== true || state !== 'suspended' || (reason !== 'invalid' && reason !== 'no_credit')) return false
    return this.#clock.now() - Math.max(since, this.#tried.get(key.id) ?? 0) >= onlyTrialMs[reason]
  }

  #admissionOf(status: KeyStatus | undefined): Admission {
    if (!status || status.state === 'active') return open
    const { state, reason, until } = status
    const waitMs = until === null ? null : until - this.#clock.now()
    if (waitMs !== null && waitMs <= 0) {
      if (state === 'cooling' || reason === 'operator') return open
      if (reason === 'no_credit' || (reason === 'invalid' && status.tries > probeMs.length)) return trial
    }
    return { kind: 'shut', reason: reason ?? 'operator', waitMs: state === 'cooling' ? waitMs : null }
  }

  /** One request tries the key: until it has ended, no other does. @returns false if it is not due any more */
  tries(key: VendorKey): boolean {
    const status = this.#find(key, '')
    if (status && this.#isOnlyDue(key, status)) {
      this.#tried.set(key.id, this.#clock.now())
      return true
    }
    if (!status || this.#admissionOf(status).kind !== 'trial') return false
    this.#put({ ...status, until: this.#clock.now() + trialMs })
    return true
  }

  /** Whether a key was closed only for refusals of one other client: that client's request may be the reason. */
  isUnproved(key: VendorKey, { client }: Pick<KeyUser, 'client'>): boolean {
    const status = this.#find(key, '')
    if (!status || this.#admissionOf(status).kind !== 'shut') return false
    const { reason } = status
    return (reason === 'no_credit' || reason === 'limited') && this.#suspicions.isUnproved(key, client)
  }

  /** Whether a suspended key is to be tried because no other is left. */
  isResort(key: VendorKey): boolean {
    const status = this.#find(key, '')
    if (status?.state !== 'suspended' || status.reason === 'operator') return false
    const { at, inARow } = this.#resorts.get(key.id) ?? { at: 0, inARow: 0 }
    const forMs = Math.min(resortMs * 2 ** Math.min(inARow, 10), resortMaxMs)
    return this.#clock.now() - Math.max(at, status.since) >= forMs
  }

  /** It is tried because no other is left: for some time no other request does. */
  resorts(key: VendorKey): void {
    const { inARow } = this.#resorts.get(key.id) ?? { inARow: 0 }
    this.#resorts.set(key.id, { at: this.#clock.now(), inARow: inARow + 1 })
  }

  /**
   * The request of a trial was refused for its own content, which shows nothing about the key: the next request tries
   * it. `wasResort`: it was tried because no other key is left.
   */
  triesAgain(key: VendorKey, wasResort: boolean): void {
    if (this.#tried.delete(key.id)) return
    const resort = this.#resorts.get(key.id)
    if (wasResort) {
      if (resort) this.#resorts.set(key.id, { at: 0, inARow: Math.max(0, resort.inARow - 1) })
      return
    }
    const status = this.#find(key, '')
    if (status?.state === 'suspended' && status.reason !== 'operator')
      this.#put({ ...status, until: this.#clock.now() })
  }

  /**
   * A request with this key was answered. Requests that began before it was refused prove nothing.
   * @param tokens what it may have used, if it uses any
   */
  succeeded(key: VendorKey, model: string, wasTrial: boolean, tokens?: number): void {
    this.#suspicions.served(key, tokens)
    if (this.#statuses.size === 0) return
    for (const one of ['', model]) {
      const status = this.#find(key, one)
      if (!status || status.state === 'active' || status.reason === 'operator') continue
      const isOver = status.state === 'cooling' && this.#admissionOf(status).kind === 'open'
      if (isOver || (wasTrial && one === '')) this.#resume(status)
    }
  }

  /**
   * The meaning of a refusal for the key. If the body of its request may have caused it, it counts once another request
   * is refused too; of all keys that refuse one request it counts for one.
   * @returns whether it is newly suspended
   */
  refused(key: VendorKey, { key: effect, code, retryAfterMs, confirm }: Classification, keyUser?: KeyUser): boolean {
    if (effect === 'none' || effect === 'model' || effect === 'request') return false
    // Its upstream rests instead, like one without keys: a limit may be of one model alone.
    if (effect === 'cooling' && key.isOnly === true) return false
    if (keyUser) {
      this.#suspicions.refused(key, keyUser)
      if (confirm && !this.#suspicions.confirms(key, effect, keyUser)) return false
      if (keyUser.hasChanged) return false
      keyUser.hasChanged = true
    }
    const before = this.#find(key, '')
    const now = this.#clock.now()
    // A key that a person suspended stays so for the given time.
    const isOver = before?.reason === 'operator' && before.until !== null && before.until <= now
    if (before?.state === 'suspended' && before.reason === 'operator' && !isOver) return false
    if (effect === 'cooling') {
      if (before?.state === 'suspended' && !isOver) return false
      // Requests in flight together count as limited once.
      const isAgain = before?.state === 'cooling' && (before.until ?? 0) <= now
      const isSame = before?.state === 'cooling' && !isAgain
      const tries = isSame ? before.tries : isAgain ? before.tries + 1 : 1
      const forMs = Math.min(
        retryAfterMs ?? coolMs * 2 ** Math.min(tries - 1, 10),
        retryAfterMs ? waitMaxMs : coolMaxMs,
      )
      const until = isSame ? Math.max(before.until ?? 0, now + forMs) : now + forMs
      this.#put({ ...blank(key), state: 'cooling', reason: 'limited', code, since: now, until, tries, changedAt: now })
      return false
    }
    const isNew = before?.state !== 'suspended' || isOver
    const firstMs = effect === 'invalid' ? (probeMs[0] as number) : trialMs
    if (isNew || before.reason !== effect)
      this.#put({
        ...blank(key),
        state: 'suspended',
        reason: effect,
        code,
        since: now,
        until: now + firstMs,
        tries: 1,
        changedAt: now,
      })
    return isNew
  }

  /** It was refused a model that another key of the same upstream serves in the same request. */
  modelRefused(key: VendorKey, model: string, code: string): void {
    const now = this.#clock.now()
    const until = now + modelMs
    this.#put({
      ...blank(key),
      model,
      state: 'cooling',
      reason: 'model',
      code,
      since: now,
      until,
      tries: 1,
      changedAt: now,
    })
  }

  resume(key: VendorKey): void {
    for (const status of this.#allOf(key)) this.#resume(status)
  }

  /** Whether a person's suspension has expired. */
  isReleased(key: VendorKey): boolean {
    const status = this.#find(key, '')
    return status?.reason === 'operator' && this.#admissionOf(status).kind === 'open'
  }

  /** Whether a free probe is due. */
  isDue(key: VendorKey): boolean {
    const status = this.#find(key, '')
    return status?.reason === 'invalid' && status.until !== null && status.until <= this.#clock.now()
  }

  /** A free probe failed again: the next one comes later. */
  stays(key: VendorKey): void {
    const status = this.#find(key, '')
    if (!status || status.state !== 'suspended' || status.reason !== 'invalid') return
    const forMs = probeMs[Math.min(status.tries, probeMs.length - 1)] as number
    const now = this.#clock.now()
    this.#put({ ...status, until: now + forMs, tries: Math.min(status.tries + 1, probeMs.length), changedAt: now })
  }

  /** A free probe could not find out, because the path does not exist: one request tries it, after a while. */
  probeFailed(key: VendorKey): void {
    const status = this.#find(key, '')
    if (!status || status.state !== 'suspended' || status.reason !== 'invalid') return
    const now = this.#clock.now()
    this.#put({ ...status, until: now + trialMs, tries: probeMs.length + 1, changedAt: now })
  }

  /** The statuses of keys that are not plainly active now. */
  of(key: VendorKey): readonly KeyStatus[] {
    return this.#allOf(key).filter(one => this.#admissionOf(one).kind !== 'open')
  }

  #allOf(key: VendorKey): readonly KeyStatus[] {
    return [...this.#statuses.values()].flatMap(one =>
      one.upstream === key.upstream.name && one.key === key.name && one.state !== 'active'
        ? (this.#find(key, one.model) ?? [])
        : [],
    )
  }

  /**
   * Findings of other processes or an earlier run: the latest applies, and a person's precedes all findings meanwhile.
   * @returns what it replaces, or null if nothing was known; undefined if it does not apply
   */
  learn(status: KeyStatus): KeyStatus | null | undefined {
    const id = idOf(status)
    const known = this.#statuses.get(id)
    const isWord =
      status.reason === 'operator' && known?.reason !== 'operator' && this.#admissionOf(status).kind !== 'open'
    if (known && known.changedAt >= status.changedAt && !isWord) return undefined
    if (!known && status.state === 'active') return undefined
    this.#statuses.set(id, status)
    if (status.state === 'active' && status.model === '') this.#forget(`${status.upstream}/${status.key}`)
    return known ?? null
  }

  #find(key: VendorKey, model: string): KeyStatus | undefined {
    if (this.#statuses.size === 0) return undefined
    const status = this.#statuses.get(`${key.id} ${model}`)
    // A changed secret is another key; an operator's suspension belongs to the name.
    if (!status || (status.hash !== key.hash && status.reason !== 'operator')) return undefined
    const ahead = status.since - this.#clock.now()
    if (ahead <= 0) return status
    // The clock was set back: remaining times stay the same.
    const until = status.until === null ? null : status.until - ahead
    const moved = { ...status, since: status.since - ahead, until }
    this.#statuses.set(`${key.id} ${model}`, moved)
    return moved
  }

  #resume(status: KeyStatus): void {
    if (status.model === '') this.#forget(`${status.upstream}/${status.key}`)
    const now = this.#clock.now()
    const plain = { state: 'active', reason: null, code: null, until: null, tries: 0 } as const
    this.#put({ ...status, ...plain, since: now, changedAt: now })
  }

  #forget(id: string): void {
    this.#resorts.delete(id)
    this.#suspicions.forget(id)
  }

  #put(given: KeyStatus): void {
    const id = idOf(given)
    const before = this.#statuses.get(id)
    // Later than what it replaces, whatever the clock is.
    const changedAt = Math.max(this.#clock.now(), (before?.changedAt ?? 0) + 1)
    const status = { ...given, changedAt }
    this.#statuses.set(id, status)
    this.#onChange(status, before)
  }
}

function blank(key: VendorKey) {
  return { upstream: key.upstream.name, key: key.name, model: '', hash: key.hash }
}

function idOf({ upstream, key, model }: Pick<KeyStatus, 'upstream' | 'key' | 'model'>): string {
  return `${upstream}/${key} ${model}`
}
