import type { AnyPlugin } from '../plugin-api/index.ts'
import type { Pipeline } from './pipeline.ts'
import type { Report } from './report.ts'
import { suggest } from './suggest.ts'

/** Keywords that allow keys outside `properties`. */
const wideners = ['additionalProperties', 'patternProperties', 'allOf', 'anyOf', 'oneOf', '$ref', 'if']

/** Calls every plugin's check of its options, and reports options that its schema does not have. */
export function inspectOptions(settings: unknown, { steps }: Pipeline, report: Report): void {
  const lines = (settings as { readonly pipeline?: unknown } | null)?.pipeline
  if (!Array.isArray(lines)) return
  for (const { name, path, plugin } of steps) {
    if (!plugin || report.broken(path)) continue
    const options = (lines[Number(path[1])] as { readonly [step: string]: unknown } | undefined)?.[name]
    if (typeof options !== 'object' || options === null) continue
    noteUnread(plugin, options, [...path, name], report)
    try {
      // The plugin's own schema has validated the options, and their type follows from it.
      for (const { path: inside, model: _, ...problem } of plugin.inspectOptions?.(options as never) ?? [])
        report.atValue([...path, name, ...inside], problem)
    } catch (error) {
      const message = `the plugin '${name}' failed while it checked its options: ${error instanceof Error ? error.message : String(error)}`
      report.atValue(path, { code: 'plugin_failed', message })
    }
  }
}

/** Reports unknown options of a schema without `additionalProperties`, which would accept a misspelled name. */
function noteUnread(plugin: AnyPlugin, options: object, path: readonly (string | number)[], report: Report): void {
  const schema = plugin.options as { readonly properties?: object } | undefined
  if (!schema || wideners.some(word => word in schema)) return
  const known = Object.keys(schema.properties ?? {})
  for (const key of Object.keys(options)) {
    if (known.includes(key)) continue
    const remedy = suggest(key, known)
    const message = `the plugin '${plugin.name}' does not declare the option '${key}'`
    report.atKey([...path, key], { severity: 'note', code: 'option_unread', message, ...(remedy && { remedy }) })
  }
}
