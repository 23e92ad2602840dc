import { configuredModels, type Model } from '../domain/index.ts'
import type { Parts, BuildInput } from './build.ts'
import type { Path } from './tree.ts'

/**
 * Finds useless and wrong fallbacks: a fallback that supports none of its model's operations, or whose requests would
 * pass through other plugins than those that admitted the request.
 */
export function checkFallbacks(parts: Parts, { pipeline: { steps }, settings, report }: BuildInput): void {
  const translating = new Set(steps.flatMap(({ plugin }) => (plugin?.accepts ? [plugin.name] : [])))
  const named = (
    settings as { readonly models: { readonly [name: string]: { readonly fallbacks?: readonly string[] } } }
  ).models
  for (const model of configuredModels(parts))
    for (const [i, name] of (named[model.name]?.fallbacks ?? []).entries()) {
      const fallback = parts.models.get(name)
      if (!fallback) continue
      const path: Path = ['models', model.name, 'fallbacks', i]
      const different = differentSections(model, fallback).filter(section => !translating.has(section))
      if (different.length > 0)
        report.atValue(path, {
          code: 'fallback_sections',
          message: `family '${fallback.family.name}' of the fallback differs from '${model.family.name}' in its sections: ${different.join(', ')}`,
          remedy:
            'give both families the same sections of plugins: what is checked before the first upstream is called applies to all',
        })
      const lost = operationsOf(model).filter(one => !operationsOf(fallback).includes(one))
      if (lost.length > 0)
        report.atValue(path, {
          severity: 'note',
          code: 'fallback_operations',
          message: `requests in ${lost.join(', ')} do not reach the fallback '${name}'`,
          remedy: `add what can be translated to accepts of '${name}'`,
        })
    }
}

function differentSections({ family }: Model, { family: other }: Model): readonly string[] {
  const names = new Set([...family.facets.keys(), ...other.facets.keys()])
  return [...names].filter(name => family.facets.has(name) !== other.facets.has(name))
}

function operationsOf({ family, accepts = new Set() }: Model): readonly string[] {
  return [...family.forward.keys(), ...accepts]
}
