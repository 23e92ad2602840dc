import { open, stat } from 'node:fs/promises'
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

/**
 * Fills every reference of the tree, reading the files it names, and marks the scalars that are secret.
 * `variablesAreSecret` where whoever wrote the text is not whoever set the variables: it may name any of them.
 */
export async function fillTree(
  root: Tree,
  source: Source,
  env: Environment,
  report: Report,
  variablesAreSecret = false,
): Promise<FilledTree> {
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
    const covered = secret || result.fromFile || (variablesAreSecret && result.fromVariable)
    if (covered) loose.push(...result.values)
    return { ...scalar, value: result.text, secret: covered, filled: result.values.length > 0 }
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
    // A pipe would be waited for, and a device has no end.
    if (!(await stat(file)).isFile()) return { diagnostic: 'it is not a file' }
    const bytes = await readBeginning(file, secretFileBytesMax + 1)
    if (bytes.length > secretFileBytesMax) return { diagnostic: `it is longer than ${secretFileBytesMax} bytes` }
    return { text: bytes.toString('utf8').replace(/\r?\n$/, '') }
  } catch (error) {
    return { diagnostic: (error as NodeJS.ErrnoException).code ?? 'unknown reason' }
  }
}

/** At most so many bytes: some files say that they have none and go on for long. */
async function readBeginning(file: string, bytesMax: number): Promise<Buffer> {
  const handle = await open(file)
  try {
    const bytes = Buffer.alloc(bytesMax)
    let length = 0
    for (let got = -1; got !== 0 && length < bytesMax; length += got)
      got = (await handle.read(bytes, length, bytesMax - length)).bytesRead
    return bytes.subarray(0, length)
  } finally {
    await handle.close()
  }
}

/** The reference itself where it stands as written, else (escapes, folded lines) the scalar. */
function spanOfReference(scalar: ScalarTree, reference: string, text: string): Span {
  const start = text.slice(scalar.span.start, scalar.span.end).indexOf(reference)
  if (start === -1) return scalar.span
  return { start: scalar.span.start + start, end: scalar.span.start + start + reference.length }
}
