import type { Pipeline, Step } from '../engine/index.ts'
import type { Hooks, Host, Plan } from '../kit/index.ts'
import type { pluginFinder } from './plugin-finder.ts'

type BuilderParts = {
  readonly finder: () => ReturnType<typeof pluginFinder>
  /** What every plugin is handed. */
  readonly host: Omit<Host, 'plan' | 'keep'>
  /** Loaded beside the storage. */
  readonly Pipeline: typeof Pipeline
}

/** Makes the plugins of a plan. What they `keep` outlives a reload. */
export class PipelineBuilder {
  readonly #parts: BuilderParts
  readonly #kept = new Map<string, unknown>()

  constructor(parts: BuilderParts) {
    this.#parts = parts
  }

  /** @throws what a plugin throws that cannot be made; those before it are closed */
  async build(plan: Plan): Promise<Pipeline> {
    const { Pipeline } = this.#parts
    const finder = this.#parts.finder()
    const steps: Step[] = []
    for (const step of plan.pipeline) {
      const plugin = await finder.resolvePlugin(step.plugin)
      if (!plugin) throw new Error(`plugin '${step.plugin}' was there when the configuration was checked, and is gone`)
      try {
        // The options were checked against this plugin's own schema when the plan was made.
        const hooks: Hooks<never> = plugin.create(step.options as never, this.#hostOf(plugin.name, plan))
        steps.push({ plugin: plugin.name, faceted: plugin.facet !== undefined, hooks })
      } catch (error) {
        // Those above it have begun to poll and to keep; a reload that fails may not leave them doing so.
        await new Pipeline(steps).close()
        throw error
      }
    }
    return new Pipeline(steps)
  }

  #hostOf(plugin: string, plan: Plan): Host {
    const kept = this.#kept
    return {
      ...this.#parts.host,
      plan,
      keep<T>(name: string, create: () => T): T {
        const slot = `${plugin}/${name}`
        if (!kept.has(slot)) kept.set(slot, create())
        return kept.get(slot) as T
      },
    }
  }
}
