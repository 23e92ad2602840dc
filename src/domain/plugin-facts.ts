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

/** Something wrong or worth knowing in a configuration, found after the schema. */
export type Diagnostic = {
  /** A warning refuses nothing at the start, and is shown prominently; `check --strict` refuses it. */
  readonly severity: 'error' | 'warning' | 'note'
  readonly code: string
  readonly message: string
  readonly remedy?: string
  /** Path inside the facet (`['tiers', 1]`) or, with `model`, inside the model's entry (`['prices', '4K']`). */
  readonly path: readonly (string | number)[]
  readonly model?: string
}

/** A plugin's declarations, also about money: all but its code. */
export type PluginFacts<Options extends object = Schema, Facet extends object = Schema> = {
  readonly name: string
  /** Options on the pipeline's line. */
  readonly options?: Options
  /** The plugin's section in a family. A family without it is none of this plugin's business. */
  readonly facet?: Facet
  readonly needs?: readonly Slot<unknown>[]
  readonly gives?: readonly Slot<unknown>[]
  /** No plugin comes after it: what the others shape and read is not what goes to the upstream and comes from it. */
  readonly last?: true
  /** Keeps answers for equal requests: only plugins that identify and limit clients come before it, so that it keeps what clients get. */
  readonly keepsAnswers?: true
  /** Its `onSettle` runs after that of all plugins that give these, wherever they are: `chargeSlot` for those that charge. */
  readonly settlesAfter?: readonly Slot<unknown>[]
  /** Charges models of the families that have its section by their prices. */
  readonly charges?: true
  /** Charges the items of such an answer one by one, as images; the first plugin of the pipeline that has this decides. */
  chargesItems?(operation: string, body: Body, facet: Admits<Facet>): boolean
  /** Translates requests of the operations that models list in `accepts`, in families that have its section. */
  readonly accepts?: true
  /** Holds callers to the limits that groups, models and keys have. */
  readonly limits?: true
  /** The `kind` of the rule that its charges are stored with; by it `record` and `replay` are found. No other has it. */
  readonly rule?: string
  /** Meaning checks on one family's facet, with the models of the family, and what is known of operations. */
  inspect?(
    facet: Admits<Facet>,
    family: Family,
    models: readonly Model[],
    operations: OperationsByName,
  ): readonly Diagnostic[]
  /** Meaning checks on its options, beyond their schema; paths are inside the options. */
  inspectOptions?(options: Admits<Options>): readonly Diagnostic[]
  /** The request that `onRoute` continues with, for explanations. @throws Failure the one of the request */
  reroute?(ask: RerouteAsk, facet: Admits<Facet>, options: Admits<Options>): Rerouted | undefined
  /**
   * Before the fact: what this plugin would do with a request and what it would hold for it, by the functions that its
   * hooks use. Called in the pipeline's order. @throws Failure the one that the request would be refused with
   */
  quote?(request: Imagined, facet: Admits<Facet>): Quote | undefined
  /** What it charges for a model, for the page of prices and the console. */
  prices?(ask: PriceAsk, facet: Admits<Facet>): Prices | undefined
  /** Explains a charge of its own: the one explanation that log, API, console and command line show. */
  record?(charge: Charge): Account
  /** Rates each line of a charge of its own again, by nothing but what is stored with it. */
  replay?(charge: Charge): readonly Replayed[]
  /**
   * What a settled charge of its own would have cost by other prices, from nothing but what is stored with it: all but prices,
   * and what they go by, stays as it was. Without it no such charge can be compared.
   */
  reprice?(charge: Charge, to: RepriceAsk, facet: Admits<Facet>): Repriced
  /** Of a line of its own charge: how much less it could have cost, and what to request instead. */
  avoidable?(rule: ChargeRule, line: ChargeItem): Saving | undefined
  /** Whether an Idempotency-Key of such a request is kept, for the reference page. */
  keepsKeys?(operation: string, facet: Admits<Facet>): boolean
}

/** The facts of a plugin whose types have been forgotten, as a plan keeps them. */
// The facet of each plugin has its own type; a list of plugins can only say that it was checked against the schema.
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
