import type { Diagnostic, Family } from '../../src/plugin-api/index.ts'
import { problem } from './diagnostic.ts'
import type { BillingFacet, DescribedAnswer } from './schema.ts'

type Where = readonly (string | number)[]

/** Errors in descriptions of answers: operations that are not served, streams, paths that match nothing. */
export function inspectDescribed({ answers }: BillingFacet, family: Family): Diagnostic[] {
  return Object.entries(answers ?? {}).flatMap(([operation, answer]) =>
    typeof answer === 'string'
      ? []
      : [...operationDiagnostics(operation, answer, family), ...pathDiagnostics(operation, answer)],
  )
}

function operationDiagnostics(operation: string, answer: DescribedAnswer, family: Family): Diagnostic[] {
  const where = ['answers', operation]
  if (!family.forward.has(operation)) {
    const text = `answers describes ${operation}, but family ${family.name} does not forward it`
    return [problem('answer_unserved', text, where, `add it to forward: { ${operation}: { all: true } }, or remove it`)]
  }
  if (!family.streams.has(operation) || answer.stream !== undefined) return []
  const text = `family ${family.name} streams ${operation}, but its streams are not described, so every stream would be withheld`
  return [problem('answer_stream_unknown', text, where, 'add stream: { each: answer }, or remove it from streams')]
}

function pathDiagnostics(operation: string, answer: DescribedAnswer): Diagnostic[] {
  return [...pathsOf(answer)].flatMap(([path, where]) => {
    const remedy = remedyOf(path)
    if (remedy === undefined) return []
    const text = `no response has a path '${path}'`
    return [problem('answer_path_malformed', text, ['answers', operation, ...where], remedy)]
  })
}

/** A corrected path: names separated by dots, without names for lists. */
function remedyOf(path: string): string | undefined {
  if (path === '.') return undefined
  const plain = path
    .replaceAll(']', '.')
    .split(/[.$\s[]/)
    .filter(name => name !== '' && name !== '*' && !/^\d+$/.test(name))
    .join('.')
  return plain === path ? undefined : `lists are searched automatically: write ${plain === '' ? '.' : plain}`
}

function* pathsOf(answer: DescribedAnswer): Generator<readonly [path: string, where: Where]> {
  for (const key of ['at', 'picture'] as const) {
    const paths = answer[key]
    if (typeof paths === 'string') yield [paths, [key]]
    else if (Array.isArray(paths)) for (const [i, path] of paths.entries()) yield [path, [key, i]]
  }
  for (const key of ['skip_if', 'keep_if'] as const)
    for (const path of Object.keys(answer[key] ?? {})) yield [path, [key, path]]
  for (const [i, one] of (answer.refused ?? []).entries())
    for (const path of Object.keys(one.if)) yield [path, ['refused', i, 'if', path]]
}
