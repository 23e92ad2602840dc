import type { KnownPlugin } from '../domain/index.ts'
import { type AnyPlugin, chargeSlot } from '../plugin-api/index.ts'
import type { PluginsByStep } from './gateway-schema.ts'
import type { Report } from './report.ts'
import { checkFirstPlugins } from './check-first-plugins.ts'
import { findNear, suggest } from './suggest.ts'
import { findNode, type Path, type Tree } from './tree.ts'
import { findUnknownFunction } from './unknown-function.ts'

/** Finds a plugin by its name in the pipeline; undefined if there is none. May reject if it cannot be loaded. */
export type ResolvePlugin = (name: string) => Promise<AnyPlugin | undefined>

export type Step = { readonly name: string; readonly path: Path; readonly plugin: AnyPlugin | undefined }

export type Pipeline = {
  readonly steps: readonly Step[]
  readonly plugins: PluginsByStep
  /** Names of plugins whose options and sections cannot be checked. */
  readonly unopened: readonly string[]
}

/** Looks up every plugin of the pipeline before anything else in the file is checked. */
export async function resolvePipeline(
  root: Tree,
  resolvePlugin: ResolvePlugin,
  knownPlugins: readonly string[],
  report: Report,
  known: readonly AnyPlugin[] = [],
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
  checkLast(steps, report)
  checkFirstPlugins(root, steps, report)
  checkRules(steps, known, report)
  checkSettling(steps, report)
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
    if (plugin) {
      reportUnknownFunction(name, path, plugin, report)
      return plugin
    }
    const remedy = suggest(name, knownPlugins)
    report.atValue(path, { code: 'plugin_unknown', message: `there is no plugin '${name}'`, ...(remedy && { remedy }) })
  } catch (error) {
    const message = `the plugin '${name}' cannot be loaded: ${error instanceof Error ? error.message : String(error)}`
    report.atValue(path, {
      code: 'plugin_failed',
      message,
      remedy: 'check that the package or file exists and can be imported',
    })
  }
  return undefined
}

function reportUnknownFunction(name: string, path: Path, plugin: AnyPlugin, report: Report): void {
  const unknown = findUnknownFunction(plugin)
  if (!unknown) return
  const message = `the plugin '${name}' has a function '${unknown.name}' that is never called`
  report.atValue(path, { code: 'hook_unknown', message, ...(unknown.remedy && { remedy: unknown.remedy }), mild: true })
}

/** Checks that each kind of rule belongs to one plugin, which explains stored charges of this kind. */
function checkRules(steps: readonly Step[], known: readonly AnyPlugin[], report: Report): void {
  for (const { name, path, plugin } of steps) {
    if (plugin?.rule === undefined) continue
    const others = [...known, ...steps.flatMap(step => step.plugin ?? [])]
    const other = others.find(one => one !== plugin && one.rule === plugin.rule && one.name !== plugin.name)
    if (!other) continue
    const message = `the charges of '${name}' and '${other.name}' would have the same rule '${plugin.rule}'`
    report.atValue(path, {
      code: 'rule_taken',
      message,
      remedy: 'give the plugin a different `rule`',
      mild: true,
    })
  }
}

/** Reports two plugins that each settle after the other, because they would never settle. */
function checkSettling(steps: readonly Step[], report: Report): void {
  const plugins = steps.flatMap(step => step.plugin ?? [])
  const after = new Map(plugins.map(plugin => [plugin.name, settlesAfter(plugin, plugins)]))
  const reaches = (from: string, to: string, seen = new Set<string>()): boolean =>
    (after.get(from) ?? []).some(name => name === to || (!seen.has(name) && reaches(name, to, seen.add(name))))
  for (const { name, path, plugin } of steps) {
    if (!plugin || !reaches(plugin.name, plugin.name)) continue
    const message = `'${name}' and another plugin each require to settle after the other`
    report.atValue(path, { code: 'settling_circle', message, remedy: 'remove one of the two', mild: true })
  }
}

/** Names of the plugins whose `onSettle` ends before this plugin's begins. */
export function settlesAfter(plugin: KnownPlugin, plugins: readonly KnownPlugin[]): readonly string[] {
  const wanted = new Set(plugin.settlesAfter?.map(slot => slot.name))
  if (wanted.size === 0) return []
  const gives = (one: KnownPlugin): boolean =>
    (one.charges === true && wanted.has(chargeSlot.name)) || one.gives?.some(slot => wanted.has(slot.name)) === true
  return plugins.filter(one => one !== plugin && gives(one)).map(one => one.name)
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
      const message = `'${name}' needs '${slot.name}', which no plugin above it provides`
      const remedy = giver ? `move '${giver.name}' above it` : `add a plugin that provides '${slot.name}' above it`
      report.atValue(path, { code: 'plugin_need_missing', message, remedy, mild: true })
    }
    for (const slot of plugin.gives ?? []) given.add(slot.name)
  }
}

/** Plugins after one that writes the upstream's native format would read a format that they do not know. */
function checkLast(steps: readonly Step[], report: Report): void {
  for (const [i, { name, path, plugin }] of steps.entries()) {
    const below = steps.slice(i + 1).map(step => step.name)
    if (plugin?.last !== true || below.length === 0) continue
    const message = `'${name}' is above ${below.join(', ')}, which would then read the vendor's native format`
    report.atValue(path, { code: 'plugin_not_last', message, remedy: `move '${name}' to the end`, mild: true })
  }
}

function checkSections(root: Tree, absent: readonly string[], report: Report): void {
  const { node, whole } = findNode(root, ['families'])
  if (!whole || node.kind !== 'map') return
  for (const family of node.entries) {
    if (family.value.kind !== 'map') continue
    for (const { key } of family.value.entries) {
      if (!absent.includes(key)) continue
      const message = `'${key}' is not in the pipeline, so this section has no effect`
      const complaint = {
        code: 'section_without_plugin',
        message,
        remedy: `add '${key}' to pipeline, or remove the section`,
        mild: true,
      }
      report.atKey(['families', family.key, key], complaint)
    }
  }
}
