import {
  type Model,
  type CompiledConfig,
  type Price,
  type PriceConditions,
  type PricedModel,
  pricedModels,
  type PriceList,
  type TableRow,
} from '../../domain/index.ts'
import { formatMoney, parseMoney } from '../../util/index.ts'
import { conditionText } from '../../pricing/index.ts'
import type { TracedValue } from '../../config/trace-values.ts'
import { formatPath } from '../../config/tree.ts'

/** One price that a configuration uses; money as a decimal. */
export type PriceInUse = {
  readonly model: string
  /** The priced unit: `input`, `output`, a tier; `free` for a free model. */
  readonly unit: string
  readonly price: string
  /** The quantity of the price: 1,000,000 for tokens. Null for a price that no charge uses. */
  readonly per: number | null
  readonly file: string
  readonly line: number
  /** Its row of a table, with the source and the date; null for prices in the model itself. */
  readonly row: string | null
  readonly source: string | null
  readonly asOf: string | null
  /** The names of the model at its upstreams. */
  readonly asked: readonly { readonly id: string; readonly upstream: string }[]
}

type Row = Pick<TableRow, 'id'> & {
  readonly place: { readonly file: string; readonly line: number }
  readonly source?: string
  readonly asOf?: string
}

/** Every price of a plan, in the order of its models. */
export function pricesInUse(
  plan: CompiledConfig,
  about: {
    readonly list: PriceList
    readonly rows: ReadonlyMap<string, Row>
    readonly values: readonly TracedValue[]
  },
): readonly PriceInUse[] {
  const places = new Map(about.values.map(value => [value.path, value]))
  const listed = new Map(about.list.models.map(model => [model.name, model]))
  return pricedModels(plan).flatMap(model => {
    const row = about.rows.get(model.name)
    const shared = {
      model: model.name,
      row: row?.id ?? null,
      source: row?.source ?? null,
      asOf: row?.asOf ?? null,
      asked: model.upstreams.map(({ sendAs, upstream }) => ({ id: sendAs, upstream: upstream.name })),
    }
    if (model.free)
      return [{ ...shared, unit: 'free', price: formatMoney(0), per: null, ...freeAt(model, row, places) }]
    const priced = listed.get(model.name)
    const rowOf = (unit: string, { micros, origin: { file, line } }: Price, conditions?: PriceConditions) => ({
      ...shared,
      unit: conditions ? unitWhere(unit, conditions) : unit,
      price: formatMoney(micros),
      per: perOf(unit, priced),
      file,
      line,
    })
    return [
      ...[...model.prices].map(([unit, price]) => rowOf(unit, price)),
      ...(model.overrides ?? []).flatMap(one => [...one.prices].map(([unit, price]) => rowOf(unit, price, one.if))),
      ...(model.times ?? []).map(({ if: conditions, by, origin }) =>
        rowOf(factorUnit, { micros: parseMoney(by) ?? 0, origin }, conditions),
      ),
    ]
  })
}

/** The name of the factor on token prices, in a list of prices. */
export const factorUnit = 'factor'

/** The name of a price with a condition, next to the one without. */
export function unitWhere(unit: string, conditions: PriceConditions): string {
  return `${unit} where ${conditionText(conditions)}`
}

function freeAt({ name, origin }: Model, row: Row | undefined, places: ReadonlyMap<string, TracedValue>) {
  const value = places.get(formatPath(['models', name, 'price']))
  const { file, line } = row?.place ?? origin
  return { file: value?.file ?? file, line: value?.line ?? line }
}

function perOf(unit: string, model: PricedModel | undefined): number | null {
  const { units = [], images = null } = model ?? {}
  const found = units.find(one => one.unit === unit)
  if (found) return found.per
  if (images?.tiers.some(tier => tier.tier === unit) === true) return 1
  return images?.beside?.find(one => one.name === unit)?.unit ?? null
}
