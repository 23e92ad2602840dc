import type { CallUpstream } from './upstream-client.ts'
import type { Awaitable } from '../util/awaitable.ts'
import type { Body } from '../domain/body.ts'
import type { EndedCharge } from '../domain/charge.ts'
import type { Clock } from '../util/clock.ts'
import type { RequestContext, Outbound, Target } from './request-context.ts'
import type { Outcome } from './outcome.ts'
import type { Ids } from '../util/ids.ts'
import type { Origin } from '../domain/model.ts'
import type { CompiledConfig } from '../domain/compiled-config.ts'
import type { KnownPlugin, PluginFacts } from '../domain/plugin-facts.ts'
import type { Random } from '../util/random.ts'
import type { JsonObjectView } from '../domain/json.ts'
import type { Answer, Reply } from '../domain/reply.ts'
import type { RerouteAsk, Rerouted } from '../domain/reroute.ts'
import type { Admits, Schema } from '../util/schema.ts'
import { defineSlot, type Slot } from '../domain/slots.ts'
import type { Stores } from '../domain/stores.ts'

/**
 * What a plugin does, by the moment it does it. Hooks run in the pipeline's order, `onReply` in the reverse.
 * `onRequest`, `onTarget` and `onAdmit` refuse by throwing a Failure; whatever they took is given back in `onSettle`.
 */
export type Hooks<Facet = unknown> = {
  /** The head alone is known; no byte of the body has been read. */
  onRequest?(context: RequestContext): Awaitable<void>
  /** Reads or reduces the body. */
  onBody?(context: RequestContext, body: Body): Awaitable<Body>
  /**
   * The path names a stored object. Returns the answer if the plugin keeps the object itself; otherwise the request goes to the
   * upstream that has it.
   */
  onObject?(context: RequestContext): Awaitable<Answer | undefined>
  /**
   * Body and model are known, and no upstream. Returns a request of another operation that the gateway continues with; its
   * answer has to be turned back in `onReply`. The first plugin that returns one wins. `context.client` has the client's
   * route and API format from then on. Never waits.
   */
  onRoute?(context: RequestContext, ask: RerouteAsk, facet: Facet): Rerouted | undefined
  /** Model and upstream are known. Checks only: takes nothing. */
  onTarget?(context: RequestContext, target: Target, facet: Facet): Awaitable<void>
  /** Every check has passed: takes slots and holds money. An answer returned here ends the request without an upstream. */
  onAdmit?(context: RequestContext, target: Target, facet: Facet): Awaitable<Answer | undefined>
  /** Shapes what the upstream receives. */
  onForward?(context: RequestContext, out: Outbound, facet: Facet, target: Target): Awaitable<Outbound>
  /**
   * Returns a function that calls the upstream, where one request and its response as they are do not suffice. The first
   * plugin that returns one wins. `out` is the request that all plugins have shaped.
   */
  onAsk?(context: RequestContext, out: Outbound, facet: Facet, target: Target): CallUpstream | undefined
  /**
   * A request whose caller is gone is resumed: a job that went on. `onTarget`, `onAdmit` and `onForward` ran in another
   * process; what they knew is what is stored. `onAsk`, `onReply` and `onSettle` follow.
   */
  onResume?(context: RequestContext, target: Target, facet: Facet): Awaitable<void>
  /** The upstream's head is here; adds stages to what follows. Never waits for the whole body. */
  onReply?(context: RequestContext, reply: Reply, facet: Facet, target: Target): Awaitable<Reply>
  /** Runs once, last, whatever happened. The hooks of all plugins run concurrently, except as `settlesAfter` defines. */
  onSettle?(context: RequestContext, outcome: Outcome, facet: Facet | undefined): Awaitable<void>
  /**
   * A charge of this process has ended, whichever plugin made it: settled, voided, or left to a person. Nothing waits for
   * this hook, and what it throws is logged. It does not run for charges that recovery, another process or a person ends.
   */
  onCharge?(charge: EndedCharge): Awaitable<void>
  /** The gateway closes: let go of timers and files. */
  close?(): Awaitable<void>
}

/** Every hook by its name; a plugin is refused whose hooks have another that looks like one. */
export const hookNames = [
  'onRequest',
  'onBody',
  'onObject',
  'onRoute',
  'onTarget',
  'onAdmit',
  'onForward',
  'onAsk',
  'onResume',
  'onReply',
  'onSettle',
  'onCharge',
  'close',
] as const satisfies readonly (keyof Hooks)[]

/** Every function that a plugin itself may have. */
export const pluginFunctions = [
  'create',
  'chargesItems',
  'inspect',
  'inspectOptions',
  'reroute',
  'quote',
  'prices',
  'record',
  'replay',
  'reprice',
  'avoidable',
  'keepsKeys',
] as const satisfies readonly (keyof Plugin)[]

/** Given by every plugin that charges, when what it charges is written: for `settlesAfter`. */
export const chargeSlot: Slot<never> = defineSlot('charge')

/** What a plugin is given when it is created. */
export type Host = {
  readonly stores: Stores
  readonly clock: Clock
  readonly random: Random
  /** Makes the ids of this gateway. */
  readonly ids: Ids
  readonly plan: CompiledConfig
  readonly log: Log
  /** Reads a JSON object as the body of a request is read. @throws Failure for one that a request could not have */
  parseObject(bytes: Buffer): JsonObjectView
  /** State that outlives a reload of the configuration (counters, caches), by a name of the plugin's own. */
  keep<T>(name: string, create: () => T): T
}

export type Log = {
  debug(facts: object, text: string): void
  info(facts: object, text: string): void
  warn(facts: object, text: string): void
  error(facts: object, text: string): void
}

export type Plugin<Options extends object = Schema, Facet extends object = Schema> = PluginFacts<Options, Facet> & {
  create(options: Admits<Options>, host: Host): Hooks<Admits<Facet>>
}

/** A plugin whose types have been forgotten, as the pipeline keeps it. */
export type AnyPlugin = KnownPlugin & { create(options: never, host: Host): Hooks<never> }

/** Checks a plugin's types and returns it as it is. */
export function definePlugin<
  const Options extends object = Record<never, never>,
  const Facet extends object = Record<never, never>,
>(plugin: Plugin<Options, Facet>): Plugin<Options, Facet> {
  return plugin
}

export type PlaceInFile = Origin
