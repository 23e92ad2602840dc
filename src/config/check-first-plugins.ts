import { attributionSlot, callerSlot } from '../domain/index.ts'
import type { AnyPlugin } from '../plugin-api/index.ts'
import type { Report } from './report.ts'
import { findNode, type Path, type Tree } from './tree.ts'

type Step = { readonly name: string; readonly path: Path; readonly plugin: AnyPlugin | undefined }

/**
 * Plugins that models enable by a setting, and that must process exactly what clients send and receive.
 *
 * After a guard, a cache would store content that the guard removes. A guard before a translator would read a format
 * that the request no longer has. If no model enables them, they do nothing in any position.
 */
export function checkFirstPlugins(root: Tree, steps: readonly Step[], report: Report): void {
  checkCache(root, steps, report)
  checkTranslation(root, steps, report)
}

function checkCache(root: Tree, steps: readonly Step[], report: Report): void {
  const using = modelsWith(root, 'cache')
  if (using.length === 0) return
  const at = steps.findIndex(({ plugin }) => plugin?.keepsAnswers)
  const step = steps[at]
  if (!step) {
    for (const key of using)
      report.atKey(['models', key, 'cache'], {
        code: 'cache_without_plugin',
        message: `'cache' of '${key}' has no effect: no plugin of the pipeline keeps responses`,
        remedy: 'add answer-cache to pipeline, after ratelimit',
        mild: true,
      })
    return
  }
  const early = steps.slice(0, at).filter(({ plugin }) => plugin && !knowsClients(plugin))
  // After a plugin that charges, a hit would be charged as an upstream's response.
  const late = steps.slice(at + 1).filter(({ plugin }) => plugin && knowsClients(plugin))
  const remedy = 'place it directly after the plugins that identify and limit clients: auth, attribution, ratelimit'
  reportPlace({ step, others: [...early, ...late], code: 'cache_misplaced', remedy }, report)
}

function checkTranslation(root: Tree, steps: readonly Step[], report: Report): void {
  const at = steps.findIndex(({ plugin }) => plugin?.accepts)
  const step = steps[at]
  // Another check reports a missing plugin for such a model.
  if (!step || modelsWith(root, 'accepts').length === 0) return
  const remedy = 'place it directly after auth, attribution, ratelimit and answer-cache'
  const others = steps.slice(0, at).filter(({ plugin }) => plugin && !knowsClients(plugin) && !plugin.keepsAnswers)
  reportPlace({ step, others, code: 'translation_misplaced', remedy }, report)
}

type Misplaced = {
  readonly step: Step
  readonly others: readonly Step[]
  readonly code: string
  readonly remedy: string
}

function reportPlace({ step: { name, path }, others, code, remedy }: Misplaced, report: Report): void {
  if (others.length === 0) return
  const wrong = others.map(other => other.name).join(', ')
  const message = `'${name}' is on the wrong side of ${wrong} in the pipeline`
  report.atValue(path, { code, message, remedy, mild: true })
}

function knowsClients({ limits, gives }: AnyPlugin): boolean {
  return (
    limits === true || gives?.some(({ name }) => name === callerSlot.name || name === attributionSlot.name) === true
  )
}

/** The names of models with a setting. */
function modelsWith(root: Tree, setting: string): readonly string[] {
  const { node, whole } = findNode(root, ['models'])
  if (!whole || node.kind !== 'map') return []
  return node.entries.flatMap(({ key, value }) =>
    value.kind === 'map' && value.entries.some(one => one.key === setting) ? [key] : [],
  )
}
