import { createHmac } from 'node:crypto'
import { open, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { systemRandom } from '../util/index.ts'
import { type FileContent, parseReferences } from './interpolate.ts'
import type { Source } from './source.ts'
import { type ScalarTree, scalarsOf, type Tree } from './tree.ts'

const secretFileBytesMax = 64 * 1024
/**
 * The key of content digests, which differs in each process, so that a guessed content cannot be verified with them.
 */
const markKey = systemRandom.bytes(32)

/** The files of `${file:…}` by their full paths, each with the digest of its content; `''` for an empty file. */
export type SecretFiles = ReadonlyMap<string, string>

/** The contents of the files of a tree, by the folder of the referring file and the name in it. */
export type ReadSecrets = {
  readonly contents: ReadonlyMap<string, ReadonlyMap<string, FileContent>>
  readonly files: SecretFiles
}

/** The secrets that a text may name. */
export type Nameable = { readonly files: ReadonlySet<string>; readonly variables: ReadonlySet<string> }

/**
 * `inUse`: the digests of the secrets in use. A file that had content and is empty now is being written, or was lost. A
 * file that is not `nameable` is neither read nor reported.
 */
export async function readSecretFiles(
  root: Tree,
  source: Source,
  inUse?: SecretFiles,
  nameable?: Nameable,
): Promise<ReadSecrets> {
  const contents = new Map<string, ReadonlyMap<string, FileContent>>()
  const files = new Map<string, string>()
  /** A file with names in several folders is read once, so that its digest is that of the content in use. */
  const known = new Map<string, FileContent>()
  for (const [folder, names] of namesByFolder(root, source)) {
    const own = new Map<string, FileContent>()
    contents.set(folder, own)
    for (const name of names) {
      const path = resolve(folder, name)
      if (nameable && !nameable.files.has(path)) continue
      const content = known.get(path) ?? (await readSecretFile(path))
      known.set(path, content)
      const emptied = 'text' in content && content.text === '' && (inUse?.get(path) ?? '') !== ''
      own.set(name, emptied ? { diagnostic: 'it is now empty' } : content)
      files.set(path, 'text' in content ? markOf(content.text) : '')
    }
  }
  return { contents, files }
}

/** The folder of a scalar's file. */
export function folderOf({ span }: ScalarTree, source: Source): string {
  return dirname(source.sourceFileOf(span.start).file)
}

function namesByFolder(root: Tree, source: Source): ReadonlyMap<string, ReadonlySet<string>> {
  const folders = new Map<string, Set<string>>()
  for (const [scalar] of scalarsOf(root)) {
    const { value } = scalar
    if (typeof value !== 'string' || !value.includes('${file:')) continue
    const folder = folderOf(scalar, source)
    const names = folders.get(folder) ?? new Set()
    folders.set(folder, names)
    for (const piece of parseReferences(value))
      if (typeof piece !== 'string' && piece.kind === 'file') names.add(piece.file)
  }
  return folders
}

/** The digest of a file's current content, or the reason why there is none. */
export async function markSecretFile(path: string): Promise<{ readonly mark: string } | { readonly reason: string }> {
  const content = await readSecretFile(path)
  if ('diagnostic' in content) return { reason: content.diagnostic }
  return content.text === '' ? { reason: 'it is empty' } : { mark: markOf(content.text) }
}

function markOf(text: string): string {
  return text === '' ? '' : createHmac('sha256', markKey).update(text).digest('base64url')
}

async function readSecretFile(file: string): Promise<FileContent> {
  try {
    // Reading a pipe would block, and a device has no end.
    if (!(await stat(file)).isFile()) return { diagnostic: 'it is not a file' }
    const bytes = await readBeginning(file, secretFileBytesMax + 1)
    if (bytes.length > secretFileBytesMax) return { diagnostic: `it is longer than ${secretFileBytesMax} bytes` }
    return { text: bytes.toString('utf8').replace(/\r?\n$/, '') }
  } catch (error) {
    return { diagnostic: (error as NodeJS.ErrnoException).code ?? 'unknown reason' }
  }
}

/** Reads a limited number of bytes: some files report a size of 0 and are long. */
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
