import {
  type Answer,
  type Awaitable,
  type Body,
  type Exchange,
  Failure,
  type Hooks,
  isPromise,
  type Outbound,
  type Outcome,
  type Reply,
  type Target,
} from '../kit/index.ts'

/** A created plugin in its place. A plugin with a facet acts only on families that have its section. */
export type Step = {
  readonly plugin: string
  readonly faceted: boolean
  readonly hooks: Hooks
  /** Plugins whose `onSettle` ends before this one's begins. */
  readonly settlesAfter?: readonly string[]
}

/** A hook threw something that is not a refusal: a fault of the plugin, never let through. */
export class HookFault extends Error {
  constructor(plugin: string, hook: string, cause: unknown) {
    super(`plugin '${plugin}' failed in ${hook}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
    this.name = 'HookFault'
  }
}

/**
 * The plugins of a plan in the order written. Each method runs one hook through all of them and stays synchronous as
 * long as they do; a hook that throws ends the exchange (guards and reducers fail closed).
 */
export class Pipeline {
  readonly #steps: readonly Step[]
  readonly #onRequest: readonly Step[]
  readonly #onBody: readonly Step[]
  readonly #onTarget: readonly Step[]
  readonly #onAdmit: readonly Step[]
  readonly #onForward: readonly Step[]
  readonly #onReply: readonly Step[]
  readonly #onSettle: readonly Step[]

  constructor(steps: readonly Step[]) {
    const having = (hook: keyof Hooks): readonly Step[] => steps.filter(step => step.hooks[hook] !== undefined)
    this.#steps = steps
    this.#onRequest = having('onRequest')
    this.#onBody = having('onBody')
    this.#onTarget = having('onTarget')
    this.#onAdmit = having('onAdmit')
    this.#onForward = having('onForward')
    this.#onReply = having('onReply').toReversed()
    this.#onSettle = inSettlingOrder(having('onSettle'))
  }

  onRequest(ex: Exchange): Awaitable<void> {
    return this.#each(this.#onRequest, 'onRequest', 0, step => step.hooks.onRequest?.(ex))
  }

  onBody(ex: Exchange, body: Body): Awaitable<Body> {
    return this.#fold(this.#onBody, 'onBody', 0, body, (step, value) => step.hooks.onBody?.(ex, value) ?? value)
  }

  onTarget(ex: Exchange, target: Target): Awaitable<void> {
    return this.#each(this.#onTarget, 'onTarget', 0, step =>
      concerns(step, target) ? step.hooks.onTarget?.(ex, target, facetOf(step, target)) : undefined,
    )
  }

  /** The first answer that a hook gives ends the pipeline. */
  onAdmit(ex: Exchange, target: Target): Awaitable<Answer | undefined> {
    return this.#fold<Answer | undefined>(this.#onAdmit, 'onAdmit', 0, undefined, (step, answer) =>
      answer === undefined && concerns(step, target) ? step.hooks.onAdmit?.(ex, target, facetOf(step, target)) : answer,
    )
  }

  onForward(ex: Exchange, out: Outbound, target: Target): Awaitable<Outbound> {
    return this.#fold(this.#onForward, 'onForward', 0, out, (step, value) =>
      concerns(step, target) ? (step.hooks.onForward?.(ex, value, facetOf(step, target), target) ?? value) : value,
    )
  }

  onReply(ex: Exchange, reply: Reply, target: Target): Awaitable<Reply> {
    return this.#fold(this.#onReply, 'onReply', 0, reply, (step, value) =>
      concerns(step, target) ? (step.hooks.onReply?.(ex, value, facetOf(step, target), target) ?? value) : value,
    )
  }

  /**
   * Every plugin is told, whatever another one does; faults are reported through `onFault`. They begin in their order and
   * end beside one another, but for those that settle after others.
   */
  onSettle(
    ex: Exchange,
    outcome: Outcome,
    target: Target | undefined,
    onFault: (fault: HookFault) => void,
  ): Awaitable<void> {
    let waits: Map<string, Promise<void>> | undefined
    for (const step of this.#onSettle) {
      const facet = target && concerns(step, target) ? facetOf(step, target) : undefined
      const before = waits && waitsOf(step, waits)
      const wait = before
        ? before.then(() => settleStep(step, ex, outcome, facet, onFault))
        : settleStep(step, ex, outcome, facet, onFault)
      if (wait) (waits ??= new Map()).set(step.plugin, wait)
    }
    if (waits) return Promise.all(waits.values()).then(() => undefined)
  }

  async close(): Promise<void> {
    for (const step of this.#steps) await step.hooks.close?.()
  }

  #each(
    steps: readonly Step[],
    hook: string,
    from: number,
    run: (step: Step) => Awaitable<void> | undefined,
  ): Awaitable<void> {
    for (let i = from; i < steps.length; i++) {
      const step = steps[i] as Step
      try {
        const wait = run(step)
        if (wait !== undefined && isPromise(wait))
          return wait.then(
            () => this.#each(steps, hook, i + 1, run),
            (cause: unknown) => {
              throw asFault(step, hook, cause)
            },
          )
      } catch (cause) {
        throw asFault(step, hook, cause)
      }
    }
  }

  #fold<T>(
    steps: readonly Step[],
    hook: string,
    from: number,
    first: T,
    run: (step: Step, value: T) => Awaitable<T>,
  ): Awaitable<T> {
    let value = first
    for (let i = from; i < steps.length; i++) {
      const step = steps[i] as Step
      try {
        const next = run(step, value)
        if (isPromise(next))
          return next.then(
            settled => this.#fold(steps, hook, i + 1, settled, run),
            (cause: unknown) => {
              throw asFault(step, hook, cause)
            },
          )
        value = next
      } catch (cause) {
        throw asFault(step, hook, cause)
      }
    }
    return value
  }
}

/** What a plugin's `onSettle` waits for; undefined for nothing. */
function waitsOf({ settlesAfter }: Step, waits: ReadonlyMap<string, Promise<void>>): Promise<unknown> | undefined {
  const before = settlesAfter?.flatMap(name => waits.get(name) ?? []) ?? []
  return before.length > 0 ? Promise.all(before) : undefined
}

/** One plugin's `onSettle`, whose faults are reported and nobody else's. */
function settleStep(
  step: Step,
  ex: Exchange,
  outcome: Outcome,
  facet: unknown,
  onFault: (fault: HookFault) => void,
): Promise<void> | undefined {
  try {
    const wait = step.hooks.onSettle?.(ex, outcome, facet)
    if (wait === undefined || !isPromise(wait)) return undefined
    return wait.catch((cause: unknown) => onFault(new HookFault(step.plugin, 'onSettle', cause)))
  } catch (cause) {
    onFault(new HookFault(step.plugin, 'onSettle', cause))
    return undefined
  }
}

/** The order written, but for those that settle after others. @throws Error when they wait for one another */
function inSettlingOrder(steps: readonly Step[]): readonly Step[] {
  const ordered: Step[] = []
  let rest = steps
  while (rest.length > 0) {
    const names = new Set(rest.map(step => step.plugin))
    const ready = rest.filter(step => !step.settlesAfter?.some(name => names.has(name)))
    if (ready.length === 0) throw new Error(`plugins settle after one another: ${[...names].join(', ')}`)
    ordered.push(...ready)
    rest = rest.filter(step => !ready.includes(step))
  }
  return ordered
}

function concerns(step: Step, target: Target): boolean {
  return !step.faceted || target.family.facets.has(step.plugin)
}

function facetOf(step: Step, target: Target): unknown {
  return target.family.facets.get(step.plugin)
}

/** Refusals pass as they are; anything else is named by the plugin and hook it came from, once. */
function asFault(step: Step, hook: string, cause: unknown): Error {
  return cause instanceof Failure || cause instanceof HookFault ? cause : new HookFault(step.plugin, hook, cause)
}
