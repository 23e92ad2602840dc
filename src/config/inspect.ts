import {
  configuredModels,
  type Diagnostic,
  type Family,
  isDerived,
  type Model,
  type OperationsByName,
  pricedModels,
} from '../domain/index.ts'
import type { AnyPlugin } from '../plugin-api/index.ts'
import type { Parts, BuildInput } from './build.ts'
import type { Pipeline } from './pipeline.ts'
import type { Report } from './report.ts'

/**
 * Calls every plugin's check of its sections, and reports findings at their places in the file. Returns models with
 * names from a table and a price that cannot be charged: their problems are not errors of the file.
 */
export function inspectFamilies(
  parts: Parts,
  { pipeline: { steps }, report, operations }: BuildInput,
): ReadonlySet<string> {
  const { families, models } = parts
  const uncharged = new Set<string>()
  const derived = new Set([...models.values()].filter(isDerived).map(({ name }) => name))
  for (const family of families.values()) {
    const own = pricedModels(parts).filter(model => model.family === family)
    for (const { name, path, plugin } of steps) {
      if (!plugin?.inspect || !family.facets.has(plugin.name)) continue
      try {
        const problems = inspect(plugin, family, own, operations)
        for (const { severity, model } of problems)
          if (severity === 'error' && model !== undefined && derived.has(model)) uncharged.add(model)
        for (const problem of problems)
          if (problem.model === undefined || !uncharged.has(problem.model))
            reportProblem(problem, plugin, family, report)
      } catch (error) {
        const message = `the plugin '${name}' failed while it checked family '${family.name}': ${error instanceof Error ? error.message : String(error)}`
        report.atValue(path, { code: 'plugin_failed', message })
      }
    }
  }
  // Another finding may be the cause, so it is reported first.
  if (report.failed) return uncharged
  for (const model of configuredModels(parts)) {
    checkCharged(model, steps, report)
    checkAccepted(model, steps, report)
  }
  return uncharged
}

/** Reports accepted formats without a translating plugin, because their requests would be refused. */
function checkAccepted({ name, accepts }: Model, steps: Pipeline['steps'], report: Report): void {
  if (!accepts || steps.some(({ plugin }) => plugin?.accepts)) return
  report.atValue(['models', name, 'accepts'], {
    code: 'accepts_untranslated',
    message: `'accepts' of '${name}' has no effect: no plugin of the pipeline translates requests`,
    remedy: 'add format-bridge to pipeline, after ratelimit',
  })
}

/** Reports a price that no plugin charges, because it would silently make the model free. */
function checkCharged({ name, family, free, enabled }: Model, steps: Pipeline['steps'], report: Report): void {
  const charging = steps.flatMap(({ plugin }) => (plugin?.charges ? [plugin.name] : []))
  if (free || !enabled || charging.some(plugin => family.facets.has(plugin))) return
  report.atValue(['models', name, 'prices'], {
    code: 'price_uncharged',
    message: `these prices are never charged: family '${family.name}' has no section of a plugin that charges them`,
    remedy:
      charging.length > 0
        ? `add a section ${charging.join(' or ')} to the family, or set price: free`
        : 'add a billing plugin to pipeline, such as image-tier-billing, or set price: free',
  })
}

function inspect(
  plugin: AnyPlugin,
  family: Family,
  models: readonly Model[],
  operations: OperationsByName,
): readonly Diagnostic[] {
  // The plugin's own schema has validated the facet, and its type follows from it.
  return plugin.inspect?.(family.facets.get(plugin.name) as never, family, models, operations) ?? []
}

function reportProblem(problem: Diagnostic, plugin: AnyPlugin, family: Family, report: Report): void {
  const { severity, code, message, remedy, path, model } = problem
  const start = model === undefined ? ['families', family.name, plugin.name] : ['models', model]
  report.atValue([...start, ...path], { severity, code, message, ...(remedy !== undefined && { remedy }) })
}
