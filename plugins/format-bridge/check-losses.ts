import type { Model } from '../../src/plugin-api/index.ts'
import { fail } from './errors.ts'
import { type Feature, type Loss, losses as rules } from './neutral/index.ts'

/** The fields of the client's format, by feature. */
export type Says = { readonly [feature in Feature]?: string }

/**
 * The fields to drop. `format` is the model's.
 * @throws Failure not_translatable for a field that may not be dropped
 */
export function checkLosses(
  lost: readonly Loss[],
  { model, says, format }: { readonly model: Model; readonly says: Says; readonly format: string },
): readonly string[] {
  const dropped = new Set<string>()
  for (const { feature, field } of lost) {
    const place = field ?? says[feature] ?? feature
    if ((model.onLoss ?? rules[feature]) === 'refuse')
      throw fail(
        'not_translatable',
        { model: model.name, what: wordOf(feature), field: place, format },
        { param: place },
      )
    dropped.add(place)
  }
  return [...dropped]
}

/** The feature `tool_choice` in a sentence: `tool choice`. */
export function wordOf(feature: Feature): string {
  return feature.replaceAll('_', ' ')
}
