import type { Model } from '../../api/shapes.ts'
import { tName } from '../../words/index.ts'

/** Tiers of images that models have prices for, each once, in the order of the models. What is counted otherwise is no tier. */
export function tiersOf(models: readonly Pick<Model, 'prices'>[]): readonly string[] {
  const priced = models.flatMap(({ prices }) => prices.map(({ unit }) => unit))
  return [...new Set(priced)].filter(one => tName('unit', one) === one)
}
