import { isUtf8 } from 'node:buffer'
import { constants } from 'node:fs'
import { access, copyFile, chmod, chown, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { systemClock } from '../util/index.ts'

/** The old and the new text of a file. */
export type Replacement = { readonly path: string; readonly before: string; readonly after: string }

/** Nothing was written. `kind`: a file was changed meanwhile, or the system refuses to write. */
export class WriteError extends Error {
  readonly kind: 'changed' | 'read-only'
  readonly path: string

  constructor(kind: 'changed' | 'read-only', path: string, reason: string) {
    super(reason)
    this.kind = kind
    this.path = path
  }
}

/**
 * The reason why a file cannot be replaced; undefined if it can. A link is followed, so that its target is replaced.
 */
export async function whyNotWritable(path: string): Promise<string | undefined> {
  try {
    const real = await realpath(path)
    const facts = await stat(real)
    if (!facts.isFile()) return 'it is not a file'
    // Root may write to read-only files.
    if ((facts.mode & 0o222) === 0) return 'it is read-only'
    await access(real, constants.W_OK)
    await access(dirname(real), constants.W_OK)
    return undefined
  } catch (error) {
    return codeOf(error)
  }
}

/**
 * Replaces files, all or none, each by a rename, so that a reader sees either the old text or the new one. Mode and
 * owner are kept. The old text stays next to each file (`.NAME.previous`), unless it is restored. @returns the paths of
 * these backups
 * @throws WriteError
 */
export async function replaceFiles(files: readonly Replacement[], isTakenBack = false): Promise<readonly string[]> {
  const drafts: Draft[] = []
  const done: Draft[] = []
  try {
    for (const file of files) drafts.push(await draft(file))
    for (const one of drafts) {
      await needUnchanged(one)
      if (isTakenBack) continue
      await copyFile(one.real, one.backup)
      await chmod(one.backup, one.mode)
    }
    for (const one of drafts) {
      await needUnchanged(one)
      await rename(one.temporary, one.real)
      done.push(one)
    }
    return drafts.map(({ backup }) => backup)
  } catch (error) {
    // Files that were restored before stay restored.
    if (!isTakenBack) for (const one of done.toReversed()) await copyFile(one.backup, one.real)
    if (error instanceof WriteError) throw error
    const path = (error as NodeJS.ErrnoException).path ?? files[0]?.path ?? ''
    throw new WriteError('read-only', path, codeOf(error))
  } finally {
    // After a rename, the name may belong to another writer.
    for (const one of drafts) if (!done.includes(one)) await rm(one.temporary, { force: true })
  }
}

/** Replaces a file, without a backup. @throws WriteError */
export async function replaceFile(path: string, after: string): Promise<void> {
  await replaceFiles([{ path, before: await readFile(path, 'utf8'), after }], true)
}

type Draft = Replacement & {
  readonly real: string
  readonly temporary: string
  readonly backup: string
  readonly mode: number
}

/** A writer needs less time, unless it was killed. */
const writerMsMax = 60_000

/**
 * Writes the new text to a file next to the old one. The file is hidden, so that patterns of `include` do not match it.
 * Its name is the same for all writers of a file, so that only one of them compares and replaces it at a time.
 */
async function draft(file: Replacement): Promise<Draft> {
  const { path, after } = file
  const reason = await whyNotWritable(path)
  if (reason !== undefined) throw new WriteError('read-only', path, reason)
  const real = await realpath(path)
  const { mode, uid, gid } = await stat(real)
  const name = join(dirname(real), `.${basename(real)}`)
  const temporary = `${name}.new`
  await removeLeftover(temporary)
  const handle = await open(temporary, 'wx', 0o600).catch((error: unknown) => {
    if (codeOf(error) !== 'EEXIST') throw error
    throw new WriteError('changed', path, 'another change of it is being written')
  })
  try {
    try {
      await handle.writeFile(after, 'utf8')
      await handle.sync()
    } finally {
      await handle.close()
    }
    const made = await stat(temporary)
    if (made.uid !== uid || made.gid !== gid) await chown(temporary, uid, gid)
    await chmod(temporary, mode & 0o7777)
    return { ...file, real, temporary, backup: `${name}.previous`, mode: mode & 0o7777 }
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

async function removeLeftover(temporary: string): Promise<void> {
  const facts = await stat(temporary).catch(() => undefined)
  if (facts && systemClock.now() - facts.mtimeMs > writerMsMax) await rm(temporary, { force: true })
}

async function needUnchanged({ path, real, before }: Draft): Promise<void> {
  const bytes = await readFile(real)
  // Its text has replacements of the other bytes, which would be lost.
  if (!isUtf8(bytes)) throw new WriteError('read-only', path, 'it is not UTF-8; save it as UTF-8 first')
  if (bytes.toString('utf8') !== before) throw new WriteError('changed', path, 'it has changed since')
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error)
}
