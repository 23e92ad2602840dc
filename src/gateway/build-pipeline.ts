import { settlesAfter } from '../config/index.ts'
import type { Pipeline, Step } from '../engine/index.ts'
import type { CompiledConfig } from '../domain/index.ts'
import type { Host } from '../plugin-api/index.ts'
import { ConfigError } from './config-error.ts'
import { createHooks, hostOf } from './create-plugins.ts'
import type { pluginFinder } from './plugin-finder.ts'

type BuilderParts = {
  readonly finder: () => ReturnType<typeof pluginFinder>
  /** The parts of the host that are equal for every plugin. */
  readonly host: Omit<Host, 'plan' | 'keep'>
  /** Loaded in parallel with the storage. */
  readonly Pipeline: typeof Pipeline
}

/** Creates the plugins of a plan. State that they `keep` survives a reload. */
export class PipelineBuilder {
  readonly #parts: BuilderParts
  readonly #kept = new Map<string, unknown>()

  constructor(parts: BuilderParts) {
    this.#parts = parts
  }

  /** @throws ConfigError if a plugin throws or has unknown hooks; plugins that were created before are closed */
  async build(plan: CompiledConfig): Promise<Pipeline> {
    const { Pipeline } = this.#parts
    const finder = this.#parts.finder()
    const host = { ...this.#parts.host, plan }
    const steps: Step[] = []
    for (const [i, line] of plan.pipeline.entries()) {
      const plugin = await finder.resolvePlugin(line.plugin)
      if (!plugin)
        throw new Error(`plugin '${line.plugin}' existed when the configuration was checked, but is missing now`)
      const created = createHooks(plugin, { ...line, path: `pipeline[${i}]` }, hostOf(plugin, host, this.#kept))
      if ('finding' in created) {
        // Earlier plugins have started timers, so a failed reload must close them.
        await new Pipeline(steps).close()
        throw new ConfigError([created.finding])
      }
      const after = settlesAfter(plugin, plan.plugins.inUse)
      steps.push({
        plugin: plugin.name,
        faceted: plugin.facet !== undefined,
        hooks: created.hooks,
        ...(after.length > 0 && { settlesAfter: after }),
      })
    }
    return new Pipeline(steps)
  }
}
