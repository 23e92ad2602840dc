import { setImmediate as nextTurn } from 'node:timers/promises'
import { scanObject } from '../engine/fields.ts'
import {
  amountOfItems,
  type Body,
  type Charge,
  chargerOf,
  decidedTier,
  Failure,
  type CostPair,
  type CostPairOf,
  type CostSpan,
  type Incomparable,
  type KnownPlugin,
  type Model,
  type NotComparable,
  type CompiledConfig,
  type Repriced,
  Slots,
  type Storage,
  type WhatIf,
} from '../domain/index.ts'
import { firstIdAt, type Micros } from '../util/index.ts'
import { concerned } from './explain.ts'

/** The number of charges per page; other requests run between two pages. */
const pageSize = 500
/** The maximum time between the start of a request and its charge, which is long for uploads. */
const openedMs = 86_400_000
/** The maximum number of distinct names of each kind in the sums; all others are combined without a name. */
const namesMax = 5_000
/** The number of cached results: requests with the same size for the same model have the same one. */
const slotsMax = 1_000

/** Options of a run. */
export type WhatIfOptions = {
  /** Aborts the run, which rejects with the reason of the signal. */
  readonly signal?: AbortSignal
  /** The active configuration, to find models that it does not charge. */
  readonly inUse?: CompiledConfig
  /** Called with the number of read charges. */
  readonly onProgress?: (charges: number) => void
}

/**
 * The cost of past charges under another configuration: each is rated again from its stored data, by the plugin that
 * created it. Quantities, sizes and responses stay unchanged. Reads page by page, and keeps only the sums.
 */
export async function replayCosts(
  plan: CompiledConfig,
  books: Pick<Storage['books'], 'all'>,
  span: CostSpan,
  { signal, inUse, onProgress }: WhatIfOptions = {},
): Promise<WhatIf> {
  const sums = new CostSums()
  let looked = 0
  for await (const page of repricedPages(plan, books, span)) {
    signal?.throwIfAborted()
    for (const { charge, repriced } of page) sums.add(charge, repriced)
    onProgress?.((looked += page.length))
  }
  return { ...span, currency: plan.currency, ...sums.result(), uncounted: uncountedBy(plan, inUse) }
}

/** A stored charge, and its replacement at the prices of a configuration. */
export type RepricedCharge = { readonly charge: Charge; readonly repriced: Repriced }

/**
 * The charges of a time range at the prices of a configuration, page by page. Voided charges are left out, because they
 * cost nothing.
 */
export async function* repricedPages(
  plan: CompiledConfig,
  books: Pick<Storage['books'], 'all'>,
  { since, until }: CostSpan,
): AsyncGenerator<readonly RepricedCharge[]> {
  const terms = new Terms(plan)
  const end = firstIdAt('req_', until)
  for (let after: string | null = firstIdAt('req_', Math.max(since - openedMs, 0)); after !== null; ) {
    const page: readonly Charge[] = await books.all(after, pageSize)
    yield page
      .filter(({ id, createdAt, state }) => id < end && createdAt >= since && createdAt < until && state !== 'voided')
      .map(charge => ({ charge, repriced: terms.reprice(charge) }))
    const last: Charge | undefined = page.at(-1)
    after = last !== undefined && page.length === pageSize && last.id < end ? last.id : null
    await nextTurn()
  }
}

function uncountedBy(plan: CompiledConfig, inUse: CompiledConfig | undefined): readonly string[] {
  const priced = [...plan.models.values()].filter(({ enabled, free }) => enabled && !free)
  return priced.map(({ name }) => name).filter(name => inUse?.models.get(name)?.free)
}

/** The rules of a configuration for the prices of charges. */
class Terms {
  readonly #plan: CompiledConfig
  /** The slots of plugins for a requested size, by model, operation and size; null if a plugin would refuse it. */
  readonly #slots = new Map<string, Slots | null>()

  constructor(plan: CompiledConfig) {
    this.#plan = plan
  }

  reprice(charge: Charge): Repriced {
    const plan = this.#plan
    if (charge.state !== 'settled') return { reason: 'open' }
    if (charge.currency !== plan.currency) return { reason: 'other_currency' }
    if (charge.lines.some(line => line.tier === decidedTier)) return { reason: 'decided' }
    if (charge.refunded > 0 && charge.refunded < charge.amount) return { reason: 'refunded_in_part' }
    if (!isReproducible(charge, plan.plugins.known)) return { reason: 'not_reproducible' }
    const model = plan.models.get(charge.model)
    if (!model?.enabled) return { reason: 'model_gone' }
    const group = plan.groups.get(charge.group)
    if (!group) return { reason: 'group_gone' }
    const charging = concerned(plan, model.family)
    const place = charging.findIndex(({ plugin }) => plugin.rule === charge.rule.kind)
    const one = charging[place]
    if (!one?.plugin.reprice) return { reason: 'charged_otherwise' }
    const slots = this.#slotsOf(charge, model, charging.slice(0, place))
    if (!slots) return { reason: 'refused' }
    const { operation } = charge
    const traits = plan.routes.find(route => route.operation === operation)?.traits
    const to = { model, family: model.family, operation, traits, multiplier: group.multiplier, slots }
    return one.plugin.reprice(charge, to, one.facet)
  }

  #slotsOf(charge: Charge, model: Model, above: ReturnType<typeof concerned>): Slots | null {
    const place = JSON.stringify([charge.model, charge.operation, charge.size])
    let slots = this.#slots.get(place)
    if (slots === undefined) {
      slots = askAbove(charge, model, above, this.#plan)
      if (this.#slots.size >= slotsMax) this.#slots.clear()
      this.#slots.set(place, slots)
    }
    return slots
  }
}

/** The slots of the plugins before the charging one, for a request with the charge's size; null if one refuses it. */
function askAbove(
  charge: Charge,
  model: Model,
  above: ReturnType<typeof concerned>,
  plan: CompiledConfig,
): Slots | null {
  const slots = new Slots()
  const { operation, size } = charge
  const fields = { model: model.name, ...(size !== null && { size }) }
  const body: Body = { kind: 'json', json: scanObject(Buffer.from(JSON.stringify(fields))) }
  const traits = plan.routes.find(route => route.operation === operation)?.traits
  try {
    for (const { plugin, facet } of above)
      plugin.quote?.(
        { operation, traits, model, family: model.family, body, out: body, slots, at: charge.createdAt },
        facet,
      )
    return slots
  } catch (error) {
    if (error instanceof Failure) return null
    throw error
  }
}

/** Whether the charge's facts result in the charged amount; otherwise they cannot be used for other prices. */
function isReproducible(charge: Charge, known: readonly KnownPlugin[]): boolean {
  const rated = chargerOf(known, charge)?.replay?.(charge)
  if (rated?.length !== charge.lines.length) return false
  return rated.every((one, i) => 'price' in one && one.price === charge.lines[i]?.price)
}

type Pair = { -readonly [N in keyof CostPair]: CostPair[N] }
type Left = { -readonly [N in keyof NotComparable]: NotComparable[N] }

/** Sums of compared charges, and of those without a comparison. */
export class CostSums {
  readonly #all: Pair = { charges: 0, before: 0, after: 0 }
  readonly #by = {
    model: new Map<string | null, Pair>(),
    group: new Map<string | null, Pair>(),
    user: new Map<string | null, Pair>(),
  }
  readonly #left = new Map<string, Left>()

  add(charge: Charge, repriced: Repriced): void {
    const net = charge.amount - charge.refunded
    if ('reason' in repriced) return this.#leave(charge, repriced.reason, net)
    // The refunded part would have been refunded here too.
    const after = charge.refunded > 0 ? 0 : amountOfItems(repriced.lines)
    addTo(this.#all, net, after)
    for (const part of ['model', 'group', 'user'] as const) addTo(placeIn(this.#by[part], charge[part]), net, after)
  }

  #leave({ model, currency }: Charge, reason: Incomparable, cost: Micros): void {
    const isFull = this.#left.size >= namesMax
    const named = isFull && !this.#left.has(JSON.stringify([reason, model, currency])) ? null : model
    const place = JSON.stringify([reason, named, currency])
    let left = this.#left.get(place)
    if (!left) this.#left.set(place, (left = { reason, model: named, currency, charges: 0, cost: 0 }))
    left.charges++
    left.cost += cost
  }

  result(): Omit<WhatIf, keyof CostSpan | 'currency' | 'uncounted'> {
    return {
      ...this.#all,
      byModel: inOrder(this.#by.model),
      byGroup: inOrder(this.#by.group),
      byUser: inOrder(this.#by.user),
      notComparable: [...this.#left.values()].sort((a, b) => b.cost - a.cost || b.charges - a.charges),
    }
  }
}

function placeIn(pairs: Map<string | null, Pair>, name: string): Pair {
  const kept = pairs.size < namesMax || pairs.has(name) ? name : null
  let pair = pairs.get(kept)
  if (!pair) pairs.set(kept, (pair = { charges: 0, before: 0, after: 0 }))
  return pair
}

function addTo(pair: Pair, before: Micros, after: Micros): void {
  pair.charges++
  pair.before += before
  pair.after += after
}

/** The largest change first. */
function inOrder(pairs: ReadonlyMap<string | null, Pair>): readonly CostPairOf[] {
  const change = ({ before, after }: CostPair): number => Math.abs(after - before)
  return [...pairs]
    .map(([name, pair]) => ({ name, ...pair }))
    .sort((a, b) => change(b) - change(a) || b.before - a.before || ((a.name ?? '') < (b.name ?? '') ? -1 : 1))
}
