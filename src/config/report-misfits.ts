import { describeMisfit, describeName } from './describe-misfit.ts'
import type { Report } from './report.ts'
import type { Source } from './source.ts'
import { findNear } from './suggest.ts'
import { findNode, type Path, type Tree } from './tree.ts'
import type { Misfit } from './validate.ts'

/** Reports every misfit at the place where an editor's YAML language server shows it. */
export function reportMisfits(misfits: readonly Misfit[], root: Tree, source: Source, report: Report): void {
  const chosen = chooseBranches(misfits)
  for (const misfit of chosen) {
    const { keyword, params } = misfit
    if (keyword === 'required' && isMisspelt(misfit, chosen)) continue
    const path = withIndexes(root, misfit.path)
    const { node } = findNode(root, path)
    // What was refused before it got here would be blamed for what it might have been.
    if ('unknown' in node && node.unknown && keyword !== 'additionalProperties') continue
    const complaint = () => describeMisfit(misfit, node, source.text.slice(node.span.start, node.span.end))
    if (misfit.key !== undefined) report.atKey([...path, misfit.key], describeName(misfit))
    else if (keyword === 'additionalProperties')
      report.atKey([...path, String(params['additionalProperty'])], complaint())
    else if (keyword === 'required') report.atKey([...path, String(params['missingProperty'])], complaint())
    else report.atValue(path, complaint())
  }
}

/** True when the missing key is there under a name that is nearly its own: one slip, one finding. */
function isMisspelt(missing: Misfit, misfits: readonly Misfit[]): boolean {
  const name = String(missing.params['missingProperty'])
  const known = Object.keys(missing.schema['properties'] ?? {})
  return misfits.some(({ keyword, params, path }) => {
    if (keyword !== 'additionalProperties' || path.join('/') !== missing.path.join('/')) return false
    return findNear(String(params['additionalProperty']), known) === name
  })
}

/** The path with list positions as numbers, as the tree has them. */
function withIndexes(root: Tree, path: readonly string[]): Path {
  const steps: (string | number)[] = []
  for (const step of path) {
    const { node, whole } = findNode(root, steps)
    steps.push(whole && node.kind === 'list' ? Number(step) : step)
  }
  return steps
}

const summaries = ['anyOf', 'oneOf', 'if', 'propertyNames']

/**
 * Where a schema offers alternatives, keeps the misfits of the one that was meant, which is the one that least is wrong
 * with; its own choosing field (a `const` or `enum` that does not fit) counts most. The summary itself says nothing then.
 */
function chooseBranches(misfits: readonly Misfit[]): readonly Misfit[] {
  let kept = misfits
  for (const choice of misfits) {
    if (choice.keyword !== 'anyOf' && choice.keyword !== 'oneOf') continue
    const branches = new Map<string, Misfit[]>()
    for (const misfit of kept) {
      const branch = branchOf(misfit, choice)
      if (branch !== undefined) branches.set(branch, [...(branches.get(branch) ?? []), misfit])
    }
    const best = [...branches.values()].toSorted((a, b) => weight(a, choice) - weight(b, choice))[0] ?? []
    kept = kept.filter(misfit => branchOf(misfit, choice) === undefined || best.includes(misfit))
  }
  return kept.filter(misfit => !summaries.includes(misfit.keyword) || alone(misfit, kept))
}

/** Of which alternative of `choice` the misfit is a part. */
function branchOf(misfit: Misfit, choice: Misfit): string | undefined {
  if (misfit === choice || !misfit.schemaPath.startsWith(`${choice.schemaPath}/`)) return undefined
  if (!choice.path.every((step, i) => misfit.path[i] === step)) return undefined
  return misfit.schemaPath.slice(choice.schemaPath.length + 1).split('/')[0]
}

function weight(branch: readonly Misfit[], choice: Misfit): number {
  const heavy = (misfit: Misfit): boolean => {
    if (misfit.keyword === 'type') return misfit.path.length === choice.path.length
    return (misfit.keyword === 'const' || misfit.keyword === 'enum') && misfit.path.length <= choice.path.length + 1
  }
  return branch.reduce((sum, misfit) => sum + (heavy(misfit) ? 100 : 1), 0)
}

/** True for a summary that nothing more exact stands beside. */
function alone(summary: Misfit, misfits: readonly Misfit[]): boolean {
  return !misfits.some(other => other !== summary && !summaries.includes(other.keyword) && isInside(other, summary))
}

function isInside(misfit: Misfit, summary: Misfit): boolean {
  return summary.path.every((step, i) => misfit.path[i] === step)
}
