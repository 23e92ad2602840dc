import { type Answer, type Body, Failure, type Reply, type RerouteAsk, type Rerouted } from '../domain/index.ts'
import type { CallUpstream, RequestContext, Hooks, Outbound, Outcome, Target } from '../plugin-api/index.ts'
import { type Awaitable, isPromise } from '../util/index.ts'

/** A created plugin at its position. A plugin with a section acts only on families that have it. */
export type Step = {
  readonly plugin: string
  readonly faceted: boolean
  readonly hooks: Hooks
  /** Plugins whose `onSettle` ends before this one's begins. */
  readonly settlesAfter?: readonly string[]
}

/** A hook threw something that is no refusal: a fault of the plugin, which never lets the request pass. */
export class HookFault extends Error {
  constructor(plugin: string, hook: string, cause: unknown) {
    super(`plugin '${plugin}' failed in ${hook}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
    this.name = 'HookFault'
  }
}

/** One plugin's function for one hook, bound once for all requests. */
type Call<Value> = (context: RequestContext, value: Value, target: Target | undefined) => Awaitable<Value>

/**
 * One hook of all plugins, in calling order: each gets the previous one's result. Nothing is allocated per request, and
 * nothing is awaited that is already available.
 */
class HookRun<Value> {
  readonly #hook: string
  readonly #steps: readonly Step[]
  readonly #calls: readonly Call<Value>[]

  constructor(hook: keyof Hooks, steps: readonly Step[], bind: (step: Step) => Call<Value>) {
    this.#hook = hook
    this.#steps = steps
    this.#calls = steps.map(bind)
  }

  run(context: RequestContext, first: Value, target: Target | undefined): Awaitable<Value> {
    const calls = this.#calls
    let value = first
    for (let i = 0; i < calls.length; i++) {
      let next: Awaitable<Value>
      try {
        next = (calls[i] as Call<Value>)(context, value, target)
      } catch (cause) {
        throw this.#asFault(i, cause)
      }
      if (isPromise(next)) return this.#goOn(i, next, context, target)
      value = next
    }
    return value
  }

  async #goOn(
    from: number,
    waited: Promise<Value>,
    context: RequestContext,
    target: Target | undefined,
  ): Promise<Value> {
    let at = from
    try {
      let value = await waited
      for (at++; at < this.#calls.length; at++) value = await (this.#calls[at] as Call<Value>)(context, value, target)
      return value
    } catch (cause) {
      throw this.#asFault(at, cause)
    }
  }

  /** Refusals pass unchanged; anything else is labelled once with its plugin and hook. */
  #asFault(at: number, cause: unknown): Error {
    if (cause instanceof Failure || cause instanceof HookFault) return cause
    return new HookFault((this.#steps[at] as Step).plugin, this.#hook, cause)
  }
}

/**
 * The plugins of a configuration in written order. Each method runs one hook through all of them and stays synchronous
 * as long as they do; a hook that throws ends the request (guards and reducers fail closed).
 */
export class Pipeline {
  readonly #steps: readonly Step[]
  readonly #onRequest: HookRun<undefined>
  readonly #onBody: HookRun<Body>
  readonly #onRoute: readonly Step[]
  readonly #onTarget: HookRun<undefined>
  readonly #onAdmit: HookRun<Answer | undefined>
  readonly #onForward: HookRun<Outbound>
  readonly #onAsk: readonly Step[]
  readonly #onResume: HookRun<undefined>
  readonly #onReply: HookRun<Reply>
  readonly #onSettle: readonly Step[]

  constructor(steps: readonly Step[]) {
    const having = (hook: keyof Hooks): readonly Step[] => steps.filter(step => step.hooks[hook] !== undefined)
    this.#steps = steps
    this.#onRequest = new HookRun('onRequest', having('onRequest'), bindRequest)
    this.#onBody = new HookRun('onBody', having('onBody'), bindBody)
    this.#onRoute = having('onRoute')
    this.#onTarget = new HookRun('onTarget', having('onTarget'), bindTarget)
    this.#onAdmit = new HookRun('onAdmit', having('onAdmit'), bindAdmit)
    this.#onForward = new HookRun('onForward', having('onForward'), bindForward)
    this.#onAsk = having('onAsk')
    this.#onResume = new HookRun('onResume', having('onResume'), bindResume)
    this.#onReply = new HookRun('onReply', having('onReply').toReversed(), bindReply)
    this.#onSettle = inSettlingOrder(having('onSettle'))
  }

  onRequest(context: RequestContext): Awaitable<void> {
    return this.#onRequest.run(context, undefined, undefined)
  }

  onBody(context: RequestContext, body: Body): Awaitable<Body> {
    return this.#onBody.run(context, body, undefined)
  }

  /** Whether a plugin may turn requests into others. */
  get reroutes(): boolean {
    return this.#onRoute.length > 0
  }

  /** The first request that a plugin makes of another; undefined if none does. */
  onRoute(context: RequestContext, ask: RerouteAsk): Rerouted | undefined {
    const { facets } = ask.model.family
    for (const step of this.#onRoute) {
      if (step.faceted && !facets.has(step.plugin)) continue
      try {
        const rerouted = step.hooks.onRoute?.(context, ask, facets.get(step.plugin))
        if (rerouted) return rerouted
      } catch (cause) {
        throw cause instanceof Failure ? cause : new HookFault(step.plugin, 'onRoute', cause)
      }
    }
    return undefined
  }

  onTarget(context: RequestContext, target: Target): Awaitable<void> {
    return this.#onTarget.run(context, undefined, target)
  }

  /** The first answer of a hook ends the pipeline. */
  onAdmit(context: RequestContext, target: Target): Awaitable<Answer | undefined> {
    return this.#onAdmit.run(context, undefined, target)
  }

  onForward(context: RequestContext, out: Outbound, target: Target): Awaitable<Outbound> {
    return this.#onForward.run(context, out, target)
  }

  /** How a plugin calls the upstream instead of the engine; undefined if none does. */
  onAsk(context: RequestContext, out: Outbound, target: Target): CallUpstream | undefined {
    for (const step of this.#onAsk) {
      if (!concerns(step, target)) continue
      try {
        const converse = step.hooks.onAsk?.(context, out, facetOf(step, target), target)
        if (converse) return converse
      } catch (cause) {
        throw cause instanceof Failure ? cause : new HookFault(step.plugin, 'onAsk', cause)
      }
    }
    return undefined
  }

  onResume(context: RequestContext, target: Target): Awaitable<void> {
    return this.#onResume.run(context, undefined, target)
  }

  onReply(context: RequestContext, reply: Reply, target: Target): Awaitable<Reply> {
    return this.#onReply.run(context, reply, target)
  }

  /**
   * Every plugin is called, whatever the others do; faults are reported through `onFault`. They begin in order and end
   * concurrently, except those that settle after others.
   */
  onSettle(
    context: RequestContext,
    outcome: Outcome,
    target: Target | undefined,
    onFault: (fault: HookFault, context: RequestContext) => void,
  ): Awaitable<void> {
    let waits: Map<string, Promise<void>> | undefined
    for (const step of this.#onSettle) {
      const facet = target && concerns(step, target) ? facetOf(step, target) : undefined
      const before = waits && waitsOf(step, waits)
      const wait = before
        ? before.then(() => settleStep(step, context, outcome, facet, onFault))
        : settleStep(step, context, outcome, facet, onFault)
      if (wait) (waits ??= new Map()).set(step.plugin, wait)
    }
    if (waits) return Promise.all(waits.values()).then(() => undefined)
  }

  async close(): Promise<void> {
    for (const step of this.#steps) await step.hooks.close?.()
  }
}

function bindRequest({ hooks }: Step): Call<undefined> {
  return context => hooks.onRequest?.(context) as Awaitable<undefined>
}

function bindBody({ hooks }: Step): Call<Body> {
  return (context, body) => hooks.onBody?.(context, body) ?? body
}

function bindTarget(step: Step): Call<undefined> {
  const { hooks } = step
  return (context, _value, target) => {
    const known = target as Target
    if (!concerns(step, known)) return undefined
    return hooks.onTarget?.(context, known, facetOf(step, known)) as Awaitable<undefined>
  }
}

function bindResume(step: Step): Call<undefined> {
  const { hooks } = step
  return (context, _value, target) => {
    const known = target as Target
    return concerns(step, known)
      ? (hooks.onResume?.(context, known, facetOf(step, known)) as Awaitable<undefined>)
      : undefined
  }
}

function bindAdmit(step: Step): Call<Answer | undefined> {
  const { hooks } = step
  return (context, answer, target) => {
    const known = target as Target
    return answer === undefined && concerns(step, known)
      ? hooks.onAdmit?.(context, known, facetOf(step, known))
      : answer
  }
}

function bindForward(step: Step): Call<Outbound> {
  const { hooks } = step
  return (context, out, target) => {
    const known = target as Target
    return concerns(step, known) ? (hooks.onForward?.(context, out, facetOf(step, known), known) ?? out) : out
  }
}

function bindReply(step: Step): Call<Reply> {
  const { hooks } = step
  return (context, reply, target) => {
    const known = target as Target
    return concerns(step, known) ? (hooks.onReply?.(context, reply, facetOf(step, known), known) ?? reply) : reply
  }
}

/** What a plugin's `onSettle` waits for; undefined if nothing. */
function waitsOf({ settlesAfter }: Step, waits: ReadonlyMap<string, Promise<void>>): Promise<unknown> | undefined {
  const before = settlesAfter?.flatMap(name => waits.get(name) ?? []) ?? []
  return before.length > 0 ? Promise.all(before) : undefined
}

/** One plugin's `onSettle`, whose faults are reported and do not affect others. */
function settleStep(
  step: Step,
  context: RequestContext,
  outcome: Outcome,
  facet: unknown,
  onFault: (fault: HookFault, context: RequestContext) => void,
): Promise<void> | undefined {
  try {
    const wait = step.hooks.onSettle?.(context, outcome, facet)
    if (wait === undefined || !isPromise(wait)) return undefined
    return wait.catch((cause: unknown) => onFault(new HookFault(step.plugin, 'onSettle', cause), context))
  } catch (cause) {
    onFault(new HookFault(step.plugin, 'onSettle', cause), context)
    return undefined
  }
}

/** The written order, except for those that settle after others. @throws Error if they wait for one another */
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
