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
 * The hooks of a plugin. Hooks run in the order of the pipeline, `onReply` in the reverse order. `onRequest`,
 * `onTarget` and `onAdmit` refuse a request by throwing a Failure; `onSettle` releases everything that they took.
 */
export type Hooks<Facet = unknown> = {
  /** Only the head is known; no byte of the body has been read. */
  onRequest?(context: RequestContext): Awaitable<void>
  /** Parses or reduces the body. */
  onBody?(context: RequestContext, body: Body): Awaitable<Body>
  /**
   * The path names a stored object. Returns the response if the plugin itself stores the object; otherwise the request
   * is sent to the object's upstream.
   */
  onObject?(context: RequestContext): Awaitable<Answer | undefined>
  /**
   * Body and model are known, but no upstream. Returns a request for another operation, with which the gateway
   * continues; `onReply` must then convert the response back. The first plugin that returns one wins. From then on,
   * `context.client` has the client's route and API format. Must not wait.
   */
  onRoute?(context: RequestContext, ask: RerouteAsk, facet: Facet): Rerouted | undefined
  /** Model and upstream are known. Only checks, without taking slots or money. */
  onTarget?(context: RequestContext, target: Target, facet: Facet): Awaitable<void>
  /** All checks have passed: takes slots and holds money. A returned response ends the request without an upstream. */
  onAdmit?(context: RequestContext, target: Target, facet: Facet): Awaitable<Answer | undefined>
  /** Changes the request for the upstream. */
  onForward?(context: RequestContext, out: Outbound, facet: Facet, target: Target): Awaitable<Outbound>
  /**
   * Returns a function that calls the upstream, for plugins that need more than one request or another response. The
   * first plugin that returns one wins. `out` is the request after the changes of all plugins.
   */
  onAsk?(context: RequestContext, out: Outbound, facet: Facet, target: Target): CallUpstream | undefined
  /**
   * A job is resumed without its client. `onTarget`, `onAdmit` and `onForward` ran in another process, and only the
   * state that they stored is known. `onAsk`, `onReply` and `onSettle` follow.
   */
  onResume?(context: RequestContext, target: Target, facet: Facet): Awaitable<void>
  /** The head of the upstream's response was received. Adds stages for the body, without waiting for the whole body. */
  onReply?(context: RequestContext, reply: Reply, facet: Facet, target: Target): Awaitable<Reply>
  /**
   * Runs once, last, for every outcome. The hooks of all plugins run concurrently, except as `settlesAfter` defines.
   */
  onSettle?(context: RequestContext, outcome: Outcome, facet: Facet | undefined): Awaitable<void>
  /**
   * A charge of this process has ended (settled, voided, or left for review). Runs for the charges of all plugins.
   * Nothing waits for this hook, and its errors are logged. It does not run for charges that recovery, another process
   * or a person ends.
   */
  onCharge?(charge: EndedCharge): Awaitable<void>
  /** The gateway shuts down: releases timers and files. */
  close?(): Awaitable<void>
}

/** All hooks by name. A plugin with a function whose name resembles a hook is refused. */
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

/** All functions that a plugin may have. */
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

/** Provided by every plugin that charges, once its charge is written. Other plugins list it in `settlesAfter`. */
export const chargeSlot: Slot<never> = defineSlot('charge')

/** The parts of the gateway for a plugin, at its creation. */
export type Host = {
  readonly stores: Stores
  readonly clock: Clock
  readonly random: Random
  /** Creates the ids of this gateway. */
  readonly ids: Ids
  readonly plan: CompiledConfig
  readonly log: Log
  /**
   * Parses a JSON object under the limits of a request body. @throws Failure for an object that no request may contain
   */
  parseObject(bytes: Buffer): JsonObjectView
  /** State that survives a reload of the configuration (counters, caches), under a name of the plugin's own. */
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

/** A plugin with erased types, as in the pipeline. */
export type AnyPlugin = KnownPlugin & { create(options: never, host: Host): Hooks<never> }

/** Checks the types of a plugin and returns it unchanged. */
export function definePlugin<
  const Options extends object = Record<never, never>,
  const Facet extends object = Record<never, never>,
>(plugin: Plugin<Options, Facet>): Plugin<Options, Facet> {
  return plugin
}

export type PlaceInFile = Origin
