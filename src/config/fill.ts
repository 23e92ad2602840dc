import { resolve } from 'node:path'
import type { Environment } from './environment.ts'
import { interpolate, parseReferences, type Reference } from './interpolate.ts'
import type { Report } from './report.ts'
import { folderOf, type Nameable, readSecretFiles, type SecretFiles } from './secret-files.ts'
import { isSecretPlace } from './secrets.ts'
import type { Source } from './source.ts'
import { isForOthers, placeholderFor, placeholderText, wasCovered } from './placeholder-secrets.ts'
import { mapScalars, type ScalarTree, type Span, type Tree } from './tree.ts'

export type FilledTree = {
  readonly root: Tree
  /** The values that replaced references in secret scalars. */
  readonly unfilled: readonly string[]
  readonly secretFiles: SecretFiles
  /** The names of the variables in the tree. */
  readonly variables: ReadonlySet<string>
}

export type FillOptions = {
  /** True if the author of the text may not know the values of variables: values from variables count as secret. */
  readonly variablesAreSecret?: boolean | undefined
  /** The secret files that the gateway uses. */
  readonly inUse?: SecretFiles | undefined
  /** The only secret files and variables that references may name; absent if all are allowed. */
  readonly nameable?: Nameable | undefined
  /**
   * True if values for vendors, receivers and issuers may be missing: a placeholder that is never sent replaces them.
   */
  readonly booksOnly?: boolean | undefined
}

/** Fills all references of the tree, reads the files in them, and marks secret scalars. */
export async function fillTree(
  root: Tree,
  source: Source,
  env: Environment,
  report: Report,
  { variablesAreSecret = false, inUse, nameable, booksOnly = false }: FillOptions = {},
): Promise<FilledTree> {
  const { contents, files } = await readSecretFiles(root, source, inUse, nameable)
  const variables = new Set<string>()
  const unfilled: string[] = []
  const filled = mapScalars(root, (scalar, path) => {
    const secret = isSecretPlace(path)
    const mayStandIn = booksOnly && isForOthers(path)
    if (mayStandIn && typeof scalar.value === 'string' && wasCovered(scalar.value))
      return { ...scalar, value: placeholderFor(scalar.value, path, root), secret, unknown: true }
    if (typeof scalar.value !== 'string' || !scalar.value.includes('$')) return secret ? { ...scalar, secret } : scalar
    const folder = folderOf(scalar, source)
    for (const piece of parseReferences(scalar.value))
      if (typeof piece !== 'string' && piece.kind === 'variable') variables.add(piece.name)
    const mayName = (one: Reference): boolean =>
      !nameable ||
      one.kind === 'malformed' ||
      (one.kind === 'file' ? nameable.files.has(resolve(folder, one.file)) : nameable.variables.has(one.name))
    const standIn = mayStandIn ? placeholderText : undefined
    const result = interpolate(scalar.value, env, contents.get(folder) ?? new Map(), mayName, standIn)
    if (!result.ok) {
      const { code, message, remedy, reference } = result
      report.add({ code, message, remedy, path, span: spanOfReference(scalar, reference.text, source.text) })
      return { ...scalar, secret, unknown: true }
    }
    const covered = secret || result.fromFile || (variablesAreSecret && result.fromVariable)
    if (covered) unfilled.push(...result.values)
    if (!result.isWhole || (mayStandIn && wasCovered(result.text)))
      return { ...scalar, value: placeholderFor(result.text, path, root), secret: covered, unknown: true }
    return { ...scalar, value: result.text, secret: covered, filled: result.values.length > 0 }
  })
  return { root: filled, unfilled, secretFiles: files, variables }
}

/**
 * The span of the reference if the text contains it literally; otherwise (escapes, folded lines) that of the scalar.
 */
function spanOfReference(scalar: ScalarTree, reference: string, text: string): Span {
  const start = text.slice(scalar.span.start, scalar.span.end).indexOf(reference)
  if (start === -1) return scalar.span
  return { start: scalar.span.start + start, end: scalar.span.start + start + reference.length }
}
