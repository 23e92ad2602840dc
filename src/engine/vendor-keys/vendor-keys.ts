import {
  type Clock,
  type Counters,
  type KeyStanding,
  type Log,
  type Micros,
  type Random,
  type Upstream,
  type VendorKey,
} from '../../kit/index.ts'
import type { Judgement } from './judge.ts'
import { type AttemptHost, KeyAttempt } from './key-attempt.ts'
import { KeyBudgets } from './key-budgets.ts'
import { KeyStates } from './key-states.ts'

/** How one key of an upstream is, for whoever looks. */
export type KeyReport = {
  readonly name: string
  readonly weight: number
  /** As a whole, or active where only models of it are not. */
  readonly state: KeyStanding['state']
  readonly reason: KeyStanding['reason']
  readonly code: string | null
  readonly since: number | null
  readonly until: number | null
  /** Models that it is not asked for now. */
  readonly models: readonly { readonly model: string; readonly code: string | null; readonly until: number | null }[]
  /** Since the start: requests it was asked with, and those of them that were refused without being sold. */
  readonly requests: number
  readonly wasted: number
  /** What was charged for what was asked with it, of its budget; null where it has none. */
  readonly spent: Micros | null
}

export type VendorKeysParts = {
  readonly clock: Clock
  readonly random: Pick<Random, 'unit'>
  readonly log: Log
  /** Where limits of keys are counted; without it they are not. */
  readonly counters?: Pick<Counters, 'take' | 'settle'> | undefined
  /** Told of each standing that has changed here. */
  readonly onChange?: ((standing: KeyStanding, before: KeyStanding | undefined) => void) | undefined
}

/** Which key an upstream is asked with, and what becomes of the keys that are refused. */
export class VendorKeys implements AttemptHost {
  readonly states: KeyStates
  readonly budgets: KeyBudgets
  readonly #parts: VendorKeysParts
  readonly #counts = new Map<string, { requests: number; wasted: number }>()

  constructor(parts: VendorKeysParts) {
    this.#parts = parts
    this.states = new KeyStates({ clock: parts.clock, onChange: (...told) => parts.onChange?.(...told) })
    this.budgets = new KeyBudgets(parts.clock)
  }

  get counters(): VendorKeysParts['counters'] {
    return this.#parts.counters
  }

  unit(): number {
    return this.#parts.random.unit()
  }

  /** A request's way through the keys of one upstream. `tokens`: what it may come to. */
  attempt(upstream: Upstream, model: string, request: string, tokens: number): KeyAttempt {
    return new KeyAttempt(this, upstream, { model, request, tokens })
  }

  asked(key: VendorKey, request: string): void {
    this.#countsOf(key).requests++
    this.budgets.asks(request, key)
  }

  /** A refusal that was not sold. */
  wasted(key: VendorKey, judgement: Judgement): void {
    this.#countsOf(key).wasted++
    const facts = { upstream: key.upstream.name, key: key.name, reason: judgement.key, answer: judgement.code }
    // Once: whoever is under way beside it is refused too.
    if (this.states.refused(key, judgement))
      this.#parts.log.error(facts, "an upstream's key is refused and suspended until it is good again")
  }

  #countsOf(key: VendorKey): { requests: number; wasted: number } {
    let counts = this.#counts.get(key.id)
    if (!counts) {
      counts = { requests: 0, wasted: 0 }
      this.#counts.set(key.id, counts)
    }
    return counts
  }

  /** How the keys of an upstream are. */
  report({ keys = [] }: Upstream): readonly KeyReport[] {
    return keys.map(key => {
      const standings = this.states.of(key)
      const whole = standings.find(one => one.model === '')
      const { requests, wasted } = this.#counts.get(key.id) ?? { requests: 0, wasted: 0 }
      return {
        name: key.name,
        weight: key.weight,
        state: whole?.state ?? 'active',
        reason: whole?.reason ?? null,
        code: whole?.code ?? null,
        since: whole?.since ?? null,
        until: whole?.until ?? null,
        models: standings.flatMap(({ model, code, until }) => (model === '' ? [] : { model, code, until })),
        requests,
        wasted,
        spent: key.budget ? this.budgets.spentOf(key) : null,
      }
    })
  }
}
