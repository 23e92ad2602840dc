import {
  type Counters,
  type KeyOutcome,
  type KeyOutcomes,
  type KeyReport,
  type KeyStatus,
  renewalAt,
  type Upstream,
  type VendorKey,
} from '../../domain/index.ts'
import type { Log } from '../../plugin-api/index.ts'
import type { Clock, Random } from '../../util/index.ts'
import type { Classification } from '../classify-response/classify.ts'
import type { AttemptHost } from './key-attempt.ts'
import { KeyBudgets } from './key-budgets.ts'
import { OutcomeCounts } from './key-outcomes.ts'
import { KeyStates } from './key-states.ts'
import type { KeyUser } from './suspicions.ts'

export type VendorKeysParts = {
  readonly clock: Clock
  readonly random: Pick<Random, 'unit'>
  readonly log: Log
  /** The zone of budget days and months; UTC by default. */
  readonly zone?: string
  /** Counts limits of keys; absent if they are not counted. */
  readonly counters?: Pick<Counters, 'take' | 'settle'> | undefined
  /** Called for each state that has changed here. */
  readonly onChange?: ((status: KeyStatus, before: KeyStatus | undefined) => void) | undefined
}

/** Chooses the keys of upstreams, and updates the states of refused ones. */
export class VendorKeys implements AttemptHost {
  readonly states: KeyStates
  readonly budgets: KeyBudgets
  readonly #parts: VendorKeysParts
  readonly #counts = new Map<string, { requests: number; readonly outcomes: OutcomeCounts }>()

  constructor(parts: VendorKeysParts) {
    this.#parts = parts
    this.states = new KeyStates({ clock: parts.clock, onChange: (...change) => parts.onChange?.(...change) })
    this.budgets = new KeyBudgets(parts.clock, parts.zone)
  }

  get counters(): VendorKeysParts['counters'] {
    return this.#parts.counters
  }

  unit(): number {
    return this.#parts.random.unit()
  }

  sent(key: VendorKey, request: string): void {
    this.#countsOf(key).requests++
    this.budgets.asks(request, key)
  }

  ended(key: VendorKey, outcome: KeyOutcome): void {
    this.#countsOf(key).outcomes.add(outcome)
  }

  /** A refusal that was not sold. */
  wasted(key: VendorKey, classification: Classification, keyUser: KeyUser): void {
    const facts = {
      upstream: key.upstream.name,
      key: key.name,
      reason: classification.key,
      answer: classification.code,
    }
    // Once: requests in flight at the same time are refused too.
    if (this.states.refused(key, classification, keyUser))
      this.#parts.log.error(facts, 'an upstream key was refused and is suspended until it works again')
  }

  #countsOf(key: VendorKey): { requests: number; readonly outcomes: OutcomeCounts } {
    let counts = this.#counts.get(key.id)
    if (!counts) {
      counts = { requests: 0, outcomes: new OutcomeCounts(this.#parts.clock) }
      this.#counts.set(key.id, counts)
    }
    return counts
  }

  /** The results of the requests that used a key here since the start. */
  outcomesOf(key: VendorKey): KeyOutcomes {
    return this.#countsOf(key).outcomes.all
  }

  /** The states of an upstream's keys. */
  report({ keys = [] }: Upstream): readonly KeyReport[] {
    return keys.map(key => this.#reportOf(key))
  }

  #reportOf(key: VendorKey): KeyReport {
    const { name, hint, weight, models, rpm, tpm, concurrency, budget } = key
    const statuses = this.states.of(key)
    const whole = statuses.find(one => one.model === '')
    const { state = 'active', reason = null, code = null, since = null, until = null } = whole ?? {}
    const byPerson = reason === 'operator'
    const { requests, outcomes } = this.#countsOf(key)
    const now = this.#parts.clock.now()
    return {
      name,
      hint,
      state,
      isAvailable: state === 'active' && weight > 0 && this.budgets.hasRoom(key),
      reason,
      code: byPerson ? null : code,
      note: byPerson ? code : null,
      since,
      until,
      weight,
      serves: models ?? null,
      limits: { rpm: rpm ?? null, tpm: tpm ?? null, concurrency: concurrency ?? null },
      budget: budget
        ? {
            ...budget,
            spent: this.budgets.spentOf(key),
            renews: renewalAt(budget.per, now, this.#parts.zone ?? 'UTC'),
          }
        : null,
      resting: statuses.flatMap(one => (one.model === '' ? [] : { ...one })),
      requests,
      lately: outcomes.lately,
    }
  }
}
