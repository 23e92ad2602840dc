import type { Account, Replayed } from './account.ts'
import type { Body } from './body.ts'
import type { Charge, ChargeRule, ChargeItem } from './charge.ts'
import type { Saving } from './costs.ts'
import type { Family, Model } from './model.ts'
import type { OperationsByName } from './operation.ts'
import type { Imagined, PriceAsk, Prices, Quote } from './quote.ts'
import type { RerouteAsk, Rerouted } from './reroute.ts'
import type { RepriceAsk, Repriced } from './reprice.ts'
import type { Admits, Schema } from '../util/schema.ts'
import type { Slot } from './slots.ts'

/** A problem or notice about a configuration, found after the schema check. */
export type Diagnostic = {
  /** A warning does not prevent the start, and is shown prominently; `check --strict` rejects it. */
  readonly severity: 'error' | 'warning' | 'note'
  readonly code: string
  readonly message: string
  readonly remedy?: string
  /** Path inside the facet (`['tiers', 1]`) or, with `model`, inside the model's entry (`['prices', '4K']`). */
  readonly path: readonly (string | number)[]
  readonly model?: string
}

/** A plugin's declarations, including those about money: everything except its code. */
export type PluginFacts<Options extends object = Schema, Facet extends object = Schema> = {
  readonly name: string
  /** The schema of its options in the pipeline. */
  readonly options?: Options
  /** The schema of its section in a family. The plugin ignores families without the section. */
  readonly facet?: Facet
  readonly needs?: readonly Slot<unknown>[]
  readonly gives?: readonly Slot<unknown>[]
  /**
   * It must be the last plugin. Later plugins would change and read something else than the upstream receives and
   * sends.
   */
  readonly last?: true
  /**
   * It caches responses for equal requests. Only plugins that identify and limit clients may come before it, so that
   * it stores the responses that clients receive.
   */
  readonly keepsAnswers?: true
  /**
   * Its `onSettle` runs after that of all plugins that provide these slots, in any position: `chargeSlot` for plugins
   * that charge.
   */
  readonly settlesAfter?: readonly Slot<unknown>[]
  /** It charges the models of families that have its section, by their prices. */
  readonly charges?: true
  /**
   * Whether it charges the items of such a response separately, as images; the first plugin of the pipeline with this
   * function decides.
   */
  chargesItems?(operation: string, body: Body, facet: Admits<Facet>): boolean
  /** It translates requests of operations that models list in `accepts`, in families that have its section. */
  readonly accepts?: true
  /** It enforces the limits of groups, models and keys. */
  readonly limits?: true
  /** The `kind` of its charges' rules, by which `record` and `replay` are found. Unique among plugins. */
  readonly rule?: string
  /** Semantic checks of a family's facet, with the models of the family and the known traits of operations. */
  inspect?(
    facet: Admits<Facet>,
    family: Family,
    models: readonly Model[],
    operations: OperationsByName,
  ): readonly Diagnostic[]
  /** Semantic checks of its options, in addition to their schema; paths are inside the options. */
  inspectOptions?(options: Admits<Options>): readonly Diagnostic[]
  /** The request that `onRoute` continues with, for explanations. @throws Failure the one of the request */
  reroute?(ask: RerouteAsk, facet: Admits<Facet>, options: Admits<Options>): Rerouted | undefined
  /**
   * Its prediction for a request, and the amount that it would hold, computed by the functions that its hooks use.
   * Called in the pipeline's order. @throws Failure the one of the refused request
   */
  quote?(request: Imagined, facet: Admits<Facet>): Quote | undefined
  /** Its prices for a model, for the price page and the console. */
  prices?(ask: PriceAsk, facet: Admits<Facet>): Prices | undefined
  /** Explains one of its charges: log, API, console and command line all show this explanation. */
  record?(charge: Charge): Account
  /** Rates each line of one of its charges again, using only the stored data of the charge. */
  replay?(charge: Charge): readonly Replayed[]
  /**
   * The cost of one of its settled charges at other prices, using only the stored data of the charge: everything
   * except the prices and their conditions stays the same. Without this, such charges cannot be compared.
   */
  reprice?(charge: Charge, to: RepriceAsk, facet: Admits<Facet>): Repriced
  /** The avoidable part of the cost of a charge's line, and the request that would avoid it. */
  avoidable?(rule: ChargeRule, line: ChargeItem): Saving | undefined
  /** Whether it stores the Idempotency-Key of such a request, for the reference page. */
  keepsKeys?(operation: string, facet: Admits<Facet>): boolean
}

/** The declarations of a plugin with erased types, as in a configuration. */
// Each plugin has its own facet type. In a list of plugins, it is only certain that the schema accepted the facet.
export type KnownPlugin = Omit<
  PluginFacts,
  'chargesItems' | 'inspect' | 'inspectOptions' | 'reroute' | 'quote' | 'prices' | 'reprice' | 'keepsKeys'
> & {
  chargesItems?(operation: string, body: Body, facet: never): boolean
  inspect?(facet: never, family: Family, models: readonly Model[], operations: OperationsByName): readonly Diagnostic[]
  inspectOptions?(options: never): readonly Diagnostic[]
  reroute?(ask: RerouteAsk, facet: never, options: never): Rerouted | undefined
  quote?(request: Imagined, facet: never): Quote | undefined
  prices?(ask: PriceAsk, facet: never): Prices | undefined
  reprice?(charge: Charge, to: RepriceAsk, facet: never): Repriced
  keepsKeys?(operation: string, facet: never): boolean
}
