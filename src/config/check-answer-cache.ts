import { attributionSlot, callerSlot } from '../domain/index.ts'
import type { AnyPlugin } from '../plugin-api/index.ts'
import type { Report } from './report.ts'
import { findNode, type Path, type Tree } from './tree.ts'

type Step = { readonly name: string; readonly path: Path; readonly plugin: AnyPlugin | undefined }

/**
 * The plugin that keeps answers has to see what clients get: below a guard it would keep what the guard removes, and below a
 * plugin that charges a hit would be charged as an upstream's answer.
 */
export function checkAnswerCache(root: Tree, steps: readonly Step[], report: Report): void {
  const at = steps.findIndex(({ plugin }) => plugin?.keepsAnswers)
  const step = steps[at]
  if (!step) return reportWithout(root, report)
  const early = steps.slice(0, at).filter(({ plugin }) => plugin && !knowsClients(plugin))
  const late = steps.slice(at + 1).filter(({ plugin }) => plugin && knowsClients(plugin))
  const wrong = [...early, ...late].map(({ name }) => name)
  if (wrong.length === 0) return
  const message = `'${step.name}' is on the wrong side of ${wrong.join(', ')} in the pipeline`
  const remedy = 'place it directly after the plugins that identify and limit clients: auth, attribution, ratelimit'
  report.atValue(step.path, { code: 'cache_misplaced', message, remedy, mild: true })
}

function knowsClients({ limits, gives }: AnyPlugin): boolean {
  return (
    limits === true || gives?.some(({ name }) => name === callerSlot.name || name === attributionSlot.name) === true
  )
}

/** Models whose answers nothing keeps. */
function reportWithout(root: Tree, report: Report): void {
  const { node, whole } = findNode(root, ['models'])
  if (!whole || node.kind !== 'map') return
  for (const { key, value } of node.entries) {
    if (value.kind !== 'map' || !value.entries.some(one => one.key === 'cache')) continue
    report.atKey(['models', key, 'cache'], {
      code: 'cache_without_plugin',
      message: `'cache' of '${key}' has no effect: no plugin of the pipeline keeps responses`,
      remedy: 'add answer-cache to pipeline, after ratelimit',
      mild: true,
    })
  }
}
