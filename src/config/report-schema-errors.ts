import { describeSchemaError, describeName } from './describe-schema-error.ts'
import type { Report } from './report.ts'
import type { Source } from './source.ts'
import { findNear } from './suggest.ts'
import { findNode, type Path, type Tree } from './tree.ts'
import type { SchemaError } from './validator.ts'

/** Reports every schema error at the place where a YAML language server shows it in an editor. */
export function reportSchemaErrors(
  schemaErrors: readonly SchemaError[],
  root: Tree,
  source: Source,
  report: Report,
): void {
  const chosen = chooseBranches(schemaErrors)
  for (const schemaError of chosen) {
    const { keyword, params } = schemaError
    if (keyword === 'required' && isMisspelt(schemaError, chosen)) continue
    const path = withIndexes(root, schemaError.path)
    const { node } = findNode(root, path)
    // An unknown value has a finding already: an error about its placeholder would be wrong.
    if ('unknown' in node && node.unknown && keyword !== 'additionalProperties') continue
    const complaint = () => describeSchemaError(schemaError, node, source.text.slice(node.span.start, node.span.end))
    if (schemaError.key !== undefined) report.atKey([...path, schemaError.key], describeName(schemaError))
    else if (keyword === 'additionalProperties')
      report.atKey([...path, String(params['additionalProperty'])], complaint())
    else if (keyword === 'required') report.atKey([...path, String(params['missingProperty'])], complaint())
    else report.atValue(path, complaint())
  }
}

/** True if the missing key exists under a similar name: one mistake gets one finding. */
function isMisspelt(missing: SchemaError, schemaErrors: readonly SchemaError[]): boolean {
  const name = String(missing.params['missingProperty'])
  const known = Object.keys(missing.schema['properties'] ?? {})
  return schemaErrors.some(({ keyword, params, path }) => {
    if (keyword !== 'additionalProperties' || path.join('/') !== missing.path.join('/')) return false
    return findNear(String(params['additionalProperty']), known) === name
  })
}

/** The path with list positions as numbers, as in the tree. */
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
 * For schemas with alternatives, keeps only the errors of the intended one: the alternative with the fewest errors. A
 * mismatch in the field that selects it (`const` or `enum`) counts most. The error of the summary itself is dropped.
 */
function chooseBranches(schemaErrors: readonly SchemaError[]): readonly SchemaError[] {
  let kept = schemaErrors
  for (const choice of schemaErrors) {
    if (choice.keyword !== 'anyOf' && choice.keyword !== 'oneOf') continue
    const branches = new Map<string, SchemaError[]>()
    for (const schemaError of kept) {
      const branch = branchOf(schemaError, choice)
      if (branch !== undefined) branches.set(branch, [...(branches.get(branch) ?? []), schemaError])
    }
    const best = [...branches.values()].toSorted((a, b) => weight(a, choice) - weight(b, choice))[0] ?? []
    kept = kept.filter(schemaError => branchOf(schemaError, choice) === undefined || best.includes(schemaError))
  }
  return kept.filter(schemaError => !summaries.includes(schemaError.keyword) || alone(schemaError, kept))
}

/** The alternative of `choice` that the schema error is part of. */
function branchOf(schemaError: SchemaError, choice: SchemaError): string | undefined {
  if (schemaError === choice || !schemaError.schemaPath.startsWith(`${choice.schemaPath}/`)) return undefined
  if (!choice.path.every((step, i) => schemaError.path[i] === step)) return undefined
  return schemaError.schemaPath.slice(choice.schemaPath.length + 1).split('/')[0]
}

function weight(branch: readonly SchemaError[], choice: SchemaError): number {
  const heavy = (schemaError: SchemaError): boolean => {
    if (schemaError.keyword === 'type') return schemaError.path.length === choice.path.length
    return (
      (schemaError.keyword === 'const' || schemaError.keyword === 'enum') &&
      schemaError.path.length <= choice.path.length + 1
    )
  }
  return branch.reduce((sum, schemaError) => sum + (heavy(schemaError) ? 100 : 1), 0)
}

/** True for a summary without a more exact error. */
function alone(summary: SchemaError, schemaErrors: readonly SchemaError[]): boolean {
  return !schemaErrors.some(
    other => other !== summary && !summaries.includes(other.keyword) && isInside(other, summary),
  )
}

function isInside(schemaError: SchemaError, summary: SchemaError): boolean {
  return summary.path.every((step, i) => schemaError.path[i] === step)
}
