import { type Finding, findUnknownHook } from '../config/index.ts'
import type { PipelineStep } from '../domain/index.ts'
import type { AnyPlugin, Hooks, Host } from '../plugin-api/index.ts'

/** A line of the pipeline, with its path in the file. */
export type PlacedStep = PipelineStep & { readonly path: string }

type Created = { readonly hooks: Hooks } | { readonly finding: Finding }

/** The plugin's hooks for its options; a finding at its line of the file if it cannot be created. */
export function createHooks(plugin: AnyPlugin, line: PlacedStep, host: Host): Created {
  let hooks: Hooks
  try {
    // This plugin's own schema has validated the options, when the plan was created.
    hooks = plugin.create(line.options as never, host)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { finding: findingAt(line, 'plugin_failed', `the plugin '${line.plugin}' cannot be created: ${reason}`) }
  }
  const unknown = findUnknownHook(hooks)
  if (!unknown) return { hooks }
  const message = `the plugin '${line.plugin}' has a hook '${unknown.name}' that is never called`
  return { finding: findingAt(line, 'hook_unknown', message, unknown.remedy) }
}

function findingAt({ origin, path }: PlacedStep, code: string, message: string, remedy?: string): Finding {
  const { file, line, col } = origin
  return { severity: 'error', code, file, line, col, path, message, ...(remedy && { remedy }), caret: '' }
}

/** The host for a plugin. The plugin's state is stored under the plugin's own name. */
export function hostOf(plugin: AnyPlugin, shared: Omit<Host, 'keep'>, kept: Map<string, unknown>): Host {
  return {
    ...shared,
    keep<T>(name: string, create: () => T): T {
      const slot = `${plugin.name}/${name}`
      if (!kept.has(slot)) kept.set(slot, create())
      return kept.get(slot) as T
    },
  }
}
