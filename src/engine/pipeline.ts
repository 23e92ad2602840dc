import {
  type Answer,
  type Body,
  type EndedCharge,
  Failure,
  type Reply,
  type RerouteAsk,
  type Rerouted,
} from '../domain/index.ts'
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

/** A plugin and the section of the family that it acts on; undefined for one without sections. */
type Bound = { readonly step: Step; readonly facet: unknown }

/** One plugin's function for one hook, bound once for all requests. */
type Call<Value> = (context: RequestContext, value: Value, target: Target | undefined) => Awaitable<Value>

/**
 * One hook of all plugins, in calling order: each gets the previous one's result. Nothing is allocated per request, and
 * nothing is awaited that is already available.
 */
class HookRun<Value> {
  readonly #hook: keyof Hooks
  readonly #steps: readonly Step[]
  readonly #calls: readonly Call<Value>[]

  constructor(hook: keyof Hooks, all: readonly Bound[], bind: (bound: Bound) => Call<Value>) {
    const having = all.filter(({ step }) => step.hooks[hook] !== undefined)
    this.#hook = hook
    this.#steps = having.map(({ step }) => step)
    this.#calls = having.map(bind)
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

/** The hooks of the plugins that act on one family, found with its first request. */
class FamilyHooks {
  readonly onRoute: readonly Bound[]
  readonly onTarget: HookRun<undefined>
  readonly onAdmit: HookRun<Answer | undefined>
  readonly onForward: HookRun<Outbound>
  readonly onAsk: readonly Bound[]
  readonly onResume: HookRun<undefined>
  readonly onReply: HookRun<Reply>

  constructor(steps: readonly Step[], { facets }: Target['family']) {
    const all = steps.flatMap(step =>
      step.faceted && !facets.has(step.plugin) ? [] : [{ step, facet: facets.get(step.plugin) }],
    )
    this.onRoute = all.filter(({ step }) => step.hooks.onRoute !== undefined)
    this.onTarget = new HookRun('onTarget', all, bindTarget)
    this.onAdmit = new HookRun('onAdmit', all, bindAdmit)
    this.onForward = new HookRun('onForward', all, bindForward)
    this.onAsk = all.filter(({ step }) => step.hooks.onAsk !== undefined)
    this.onResume = new HookRun('onResume', all, bindResume)
    this.onReply = new HookRun('onReply', all.toReversed(), bindReply)
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
  readonly #onObject: HookRun<Answer | undefined>
  readonly #families = new WeakMap<Target['family'], FamilyHooks>()
  readonly #onSettle: readonly Step[]
  readonly #onCharge: readonly Step[]
  readonly #reroutes: boolean

  constructor(steps: readonly Step[]) {
    const all = steps.map(step => ({ step, facet: undefined }))
    this.#steps = steps
    this.#onRequest = new HookRun('onRequest', all, bindRequest)
    this.#onBody = new HookRun('onBody', all, bindBody)
    this.#onObject = new HookRun('onObject', all, bindObject)
    this.#onSettle = inSettlingOrder(steps.filter(({ hooks }) => hooks.onSettle !== undefined))
    this.#onCharge = steps.filter(({ hooks }) => hooks.onCharge !== undefined)
    this.#reroutes = steps.some(({ hooks }) => hooks.onRoute !== undefined)
  }

  #of({ family }: Pick<Target, 'family'>): FamilyHooks {
    let hooks = this.#families.get(family)
    if (!hooks) this.#families.set(family, (hooks = new FamilyHooks(this.#steps, family)))
    return hooks
  }

  onRequest(context: RequestContext): Awaitable<void> {
    return this.#onRequest.run(context, undefined, undefined)
  }

  onBody(context: RequestContext, body: Body): Awaitable<Body> {
    return this.#onBody.run(context, body, undefined)
  }

  /** The first answer of a plugin that keeps the object of the path. */
  onObject(context: RequestContext): Awaitable<Answer | undefined> {
    return this.#onObject.run(context, undefined, undefined)
  }

  /** Whether a plugin may turn requests into others. */
  get reroutes(): boolean {
    return this.#reroutes
  }

  /** The first request that a plugin makes of another; undefined if none does. */
  onRoute(context: RequestContext, ask: RerouteAsk): Rerouted | undefined {
    for (const { step, facet } of this.#of(ask.model).onRoute) {
      try {
        const rerouted = step.hooks.onRoute?.(context, ask, facet)
        if (rerouted) return rerouted
      } catch (cause) {
        throw cause instanceof Failure ? cause : new HookFault(step.plugin, 'onRoute', cause)
      }
    }
    return undefined
  }

  onTarget(context: RequestContext, target: Target): Awaitable<void> {
    return this.#of(target).onTarget.run(context, undefined, target)
  }

  /** The first answer of a hook ends the pipeline. */
  onAdmit(context: RequestContext, target: Target): Awaitable<Answer | undefined> {
    return this.#of(target).onAdmit.run(context, undefined, target)
  }

  onForward(context: RequestContext, out: Outbound, target: Target): Awaitable<Outbound> {
    return this.#of(target).onForward.run(context, out, target)
  }

  /** How a plugin calls the upstream instead of the engine; undefined if none does. */
  onAsk(context: RequestContext, out: Outbound, target: Target): CallUpstream | undefined {
    for (const { step, facet } of this.#of(target).onAsk) {
      try {
        const converse = step.hooks.onAsk?.(context, out, facet, target)
        if (converse) return converse
      } catch (cause) {
        throw cause instanceof Failure ? cause : new HookFault(step.plugin, 'onAsk', cause)
      }
    }
    return undefined
  }

  onResume(context: RequestContext, target: Target): Awaitable<void> {
    return this.#of(target).onResume.run(context, undefined, target)
  }

  onReply(context: RequestContext, reply: Reply, target: Target): Awaitable<Reply> {
    return this.#of(target).onReply.run(context, reply, target)
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
      const facet = target?.family.facets.get(step.plugin)
      const before = waits && waitsOf(step, waits)
      const wait = before
        ? before.then(() => settleStep(step, context, outcome, facet, onFault))
        : settleStep(step, context, outcome, facet, onFault)
      if (wait) (waits ??= new Map()).set(step.plugin, wait)
    }
    if (waits) return Promise.all(waits.values()).then(() => undefined)
  }

  /** Reports a charge that has ended, apart from its request, which neither waits for it nor fails with it. */
  onCharge(charge: EndedCharge, onFault: (charge: EndedCharge, plugin: string, cause: unknown) => void): void {
    for (const { plugin, hooks } of this.#onCharge) {
      try {
        const wait = hooks.onCharge?.(charge)
        if (wait !== undefined && isPromise(wait)) wait.catch((cause: unknown) => onFault(charge, plugin, cause))
      } catch (cause) {
        onFault(charge, plugin, cause)
      }
    }
  }

  async close(): Promise<void> {
    for (const step of this.#steps) await step.hooks.close?.()
  }
}

function bindRequest({ step: { hooks } }: Bound): Call<undefined> {
  return context => hooks.onRequest?.(context) as Awaitable<undefined>
}

function bindBody({ step: { hooks } }: Bound): Call<Body> {
  return (context, body) => hooks.onBody?.(context, body) ?? body
}

function bindObject({ step: { hooks } }: Bound): Call<Answer | undefined> {
  return (context, answer) => answer ?? hooks.onObject?.(context)
}

function bindTarget({ step: { hooks }, facet }: Bound): Call<undefined> {
  return (context, _value, target) => hooks.onTarget?.(context, target as Target, facet) as Awaitable<undefined>
}

function bindResume({ step: { hooks }, facet }: Bound): Call<undefined> {
  return (context, _value, target) => hooks.onResume?.(context, target as Target, facet) as Awaitable<undefined>
}

function bindAdmit({ step: { hooks }, facet }: Bound): Call<Answer | undefined> {
  return (context, answer, target) =>
    answer === undefined ? hooks.onAdmit?.(context, target as Target, facet) : answer
}

function bindForward({ step: { hooks }, facet }: Bound): Call<Outbound> {
  return (context, out, target) => hooks.onForward?.(context, out, facet, target as Target) ?? out
}

function bindReply({ step: { hooks }, facet }: Bound): Call<Reply> {
  return (context, reply, target) => hooks.onReply?.(context, reply, facet, target as Target) ?? reply
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
