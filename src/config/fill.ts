import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { Environment } from './environment.ts'
import { type FileContent, interpolate, parseReferences } from './interpolate.ts'
import type { Report } from './report.ts'
import { isSecretPlace } from './secrets.ts'
import type { Source } from './source.ts'
import { mapScalars, type ScalarTree, scalarsOf, type Span, type Tree } from './tree.ts'

const secretFileBytesMax = 64 * 1024

export type FilledTree = {
  readonly root: Tree
  /** What references in secret scalars were filled with. */
  readonly loose: readonly string[]
}

/** Fills every reference of the tree, reading the files it names, and marks the scalars that are secret. */
export async function fillTree(root: Tree, source: Source, env: Environment, report: Report): Promise<FilledTree> {
  const files = await readSecretFiles(root, dirname(source.file))
  const loose: string[] = []
  const filled = mapScalars(root, (scalar, path) => {
    const secret = isSecretPlace(path)
    if (typeof scalar.value !== 'string' || !scalar.value.includes('$')) return secret ? { ...scalar, secret } : scalar
    const result = interpolate(scalar.value, env, files)
    if (!result.ok) {
      const { code, message, remedy, reference } = result
      report.add({ code, message, remedy, path, span: spanOfReference(scalar, reference.text, source.text) })
      return { ...scalar, secret, unknown: true }
    }
    if (secret || result.fromFile) loose.push(...result.values)
    return { ...scalar, value: result.text, secret: secret || result.fromFile, filled: result.values.length > 0 }
  })
  return { root: filled, loose }
}

async function readSecretFiles(root: Tree, folder: string): Promise<ReadonlyMap<string, FileContent>> {
  const names = new Set<string>()
  for (const [{ value }] of scalarsOf(root)) {
    if (typeof value !== 'string' || !value.includes('${file:')) continue
    for (const piece of parseReferences(value))
      if (typeof piece !== 'string' && piece.kind === 'file') names.add(piece.file)
  }
  return new Map(
    await Promise.all([...names].map(async name => [name, await readSecretFile(resolve(folder, name))] as const)),
  )
}

async function readSecretFile(file: string): Promise<FileContent> {
  try {
    const text = await readFile(file, 'utf8')
    if (text.length > secretFileBytesMax) return { fault: `it is longer than ${secretFileBytesMax} bytes` }
    return { text: text.replace(/\r?\n$/, '') }
  } catch (error) {
    return { fault: (error as NodeJS.ErrnoException).code ?? 'unknown reason' }
  }
}

/** The reference itself where it stands as written, else (escapes, folded lines) the scalar. */
function spanOfReference(scalar: ScalarTree, reference: string, text: string): Span {
  const start = text.slice(scalar.span.start, scalar.span.end).indexOf(reference)
  if (start === -1) return scalar.span
  return { start: scalar.span.start + start, end: scalar.span.start + start + reference.length }
}
