import type { Model } from '../../api/shapes.ts'
import { tName } from '../../words/index.ts'

type Priced = Pick<Model, 'prices'>

/** Tiers of images that models have prices for, each once, in the order of the models. What is counted otherwise is no tier. */
export function tiersOf(models: readonly Priced[]): readonly string[] {
  return pricedBy(models).filter(one => !isUnit(one))
}

/** What is counted and has a price, each once, in the order of the models. */
export function unitsOf(models: readonly Priced[]): readonly string[] {
  return pricedBy(models).filter(isUnit)
}

function pricedBy(models: readonly Priced[]): readonly string[] {
  return [...new Set(models.flatMap(({ prices }) => prices.map(({ unit }) => unit)))]
}

function isUnit(name: string): boolean {
  return tName('unit', name) !== name
}
