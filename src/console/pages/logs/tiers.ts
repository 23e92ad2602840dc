import type { Model } from '../../api/shapes.ts'
import { tName } from '../../words/index.ts'

type Priced = Pick<Model, 'prices'>

/** Image tiers with prices, each once, in the order of the models. Other counts are not tiers. */
export function tiersOf(models: readonly Priced[]): readonly string[] {
  return pricedBy(models).filter(one => !isUnit(one))
}

/** Counts with prices, each once, in the order of the models. */
export function unitsOf(models: readonly Priced[]): readonly string[] {
  return pricedBy(models).filter(isUnit)
}

function pricedBy(models: readonly Priced[]): readonly string[] {
  return [...new Set(models.flatMap(({ prices }) => prices.map(({ unit }) => unit)))]
}

function isUnit(name: string): boolean {
  return tName('unit', name) !== name
}
