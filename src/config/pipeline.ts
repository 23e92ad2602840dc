import type { AnyPlugin } from '../kit/index.ts'
import type { PluginsByStep } from './gateway-schema.ts'
import type { Report } from './report.ts'
import { findNear, suggest } from './suggest.ts'
import { findNode, type Path, type Tree } from './tree.ts'

/** Finds a plugin by the name that the pipeline calls it; undefined when there is none. May reject when it cannot be loaded. */
export type ResolvePlugin = (name: string) => Promise<AnyPlugin | undefined>

export type Step = { readonly name: string; readonly path: Path; readonly plugin: AnyPlugin | undefined }

export type Pipeline = {
  readonly steps: readonly Step[]
  readonly plugins: PluginsByStep
  /** Names whose options and sections cannot be judged. */
  readonly unopened: readonly string[]
}

/** Looks up every plugin that the pipeline names, before anything else of the file is judged. */
export async function resolvePipeline(
  root: Tree,
  resolvePlugin: ResolvePlugin,
  knownPlugins: readonly string[],
  report: Report,
): Promise<Pipeline> {
  const { node, whole } = findNode(root, ['pipeline'])
  const elements = whole && node.kind === 'list' ? node.elements : []
  const steps: Step[] = []
  for (const [i, element] of elements.entries()) {
    const name = stepName(element)
    if (name === undefined) continue
    const path = ['pipeline', i]
    steps.push({ name, path, plugin: await resolveStep(name, path, resolvePlugin, knownPlugins, report) })
  }
  const plugins = new Map(steps.flatMap(({ name, plugin }) => (plugin ? [[name, plugin] as const] : [])))
  checkOrder(steps, report)
  const used = new Set([...plugins.values()].map(plugin => plugin.name))
  const missed = steps.filter(step => !step.plugin).map(step => step.name)
  const unopened = [...knownPlugins, ...missed].filter(name => !used.has(name) && !plugins.has(name))
  const meant = new Set(missed.flatMap(name => [name, findNear(name, knownPlugins) ?? name]))
  checkSections(
    root,
    unopened.filter(name => !meant.has(name)),
    report,
  )
  return { steps, plugins, unopened: [...new Set(unopened)] }
}

/** `- auth`, or `- auth: { … }`. */
function stepName(element: Tree): string | undefined {
  if (element.kind === 'scalar')
    return typeof element.value === 'string' && !element.unknown ? element.value : undefined
  return element.kind === 'map' && element.entries.length === 1 ? element.entries[0]?.key : undefined
}

async function resolveStep(
  name: string,
  path: Path,
  resolvePlugin: ResolvePlugin,
  knownPlugins: readonly string[],
  report: Report,
): Promise<AnyPlugin | undefined> {
  try {
    const plugin = await resolvePlugin(name)
    if (plugin) return plugin
    const remedy = suggest(name, knownPlugins)
    report.atValue(path, { code: 'plugin_unknown', message: `there is no plugin '${name}'`, ...(remedy && { remedy }) })
  } catch (error) {
    const message = `the plugin '${name}' cannot be loaded: ${error instanceof Error ? error.message : String(error)}`
    report.atValue(path, { code: 'plugin_failed', message, remedy: 'check that the package or file is there and runs' })
  }
  return undefined
}

function checkOrder(steps: readonly Step[], report: Report): void {
  const given = new Set<string>()
  const seen = new Map<string, string>()
  for (const { name, path, plugin } of steps) {
    if (!plugin) continue
    if (seen.has(plugin.name)) {
      report.atValue(path, {
        code: 'plugin_repeated',
        message: `'${name}' is in the pipeline twice`,
        remedy: 'keep one of the two',
      })
      continue
    }
    seen.set(plugin.name, name)
    for (const slot of plugin.needs ?? []) {
      if (given.has(slot.name)) continue
      const giver = steps.find(step => step.plugin?.gives?.some(given => given.name === slot.name))
      const message = `'${name}' needs '${slot.name}', which nothing above it gives`
      const remedy = giver ? `put '${giver.name}' above it` : `add a plugin that gives '${slot.name}' above it`
      report.atValue(path, { code: 'plugin_need_missing', message, remedy, mild: true })
    }
    for (const slot of plugin.gives ?? []) given.add(slot.name)
  }
}

function checkSections(root: Tree, absent: readonly string[], report: Report): void {
  const { node, whole } = findNode(root, ['families'])
  if (!whole || node.kind !== 'map') return
  for (const family of node.entries) {
    if (family.value.kind !== 'map') continue
    for (const { key } of family.value.entries) {
      if (!absent.includes(key)) continue
      const message = `'${key}' is not in the pipeline, so this section would do nothing`
      const complaint = {
        code: 'section_without_plugin',
        message,
        remedy: `add '${key}' to pipeline, or take the section out`,
        mild: true,
      }
      report.atKey(['families', family.key, key], complaint)
    }
  }
}
