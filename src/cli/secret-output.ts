import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import type { CompiledConfig } from '../index.ts'

/** The destination of a secret that is shown once: a terminal, or else a file that only its owner may read. */
export type SecretOutput =
  | { readonly kind: 'terminal' }
  | { readonly kind: 'file'; readonly path: string; write(text: string): Promise<void> }
  /** There is no safe destination, so the secret must not be created. */
  | { readonly kind: 'nowhere'; readonly reason: string }

/**
 * Chooses the destination. Without a terminal it is a file: standard error goes to logs, which are copied and widely
 * read.
 */
export async function chooseSecretOutput(
  name: string,
  plan: Pick<CompiledConfig, 'storage' | 'file'>,
  { isTerminal = process.stderr.isTTY, env = process.env } = {},
): Promise<SecretOutput> {
  if (isTerminal) return { kind: 'terminal' }
  const reasons: string[] = []
  for (const folder of placesFor(plan, env)) {
    const path = join(folder, nameFor(name, plan))
    try {
      const file = await replaceEmpty(path)
      return {
        kind: 'file',
        path,
        async write(text) {
          try {
            await file.writeFile(text)
            await file.sync()
          } finally {
            await file.close()
          }
        },
      }
    } catch (error) {
      reasons.push(`${path}: ${(error as NodeJS.ErrnoException).code ?? String(error)}`)
    }
  }
  return { kind: 'nowhere', reason: reasons.join(', ') }
}

/**
 * An empty file that only its owner may read. It replaces an existing file instead of emptying it: a process that has
 * the old file open could otherwise read the secret. It is in place before the secret is created, so that a folder that
 * refuses it is known in time.
 */
async function replaceEmpty(path: string): Promise<FileHandle> {
  const temporary = join(dirname(path), `.${basename(path)}.${process.pid}.new`)
  // Removes the leftover of an earlier process with the same id.
  await rm(temporary, { force: true })
  const file = await open(temporary, 'wx', 0o600)
  try {
    await rename(temporary, path)
    return file
  } catch (error) {
    await file.close()
    await rm(temporary, { force: true })
    throw error
  }
}

/**
 * Two databases in one folder have separate files: `tollgate.db`, or a `gateway.yaml` without a database file, has the
 * plain name; any other has the name of its database or configuration as a suffix.
 */
function nameFor(name: string, { storage, file }: Pick<CompiledConfig, 'storage' | 'file'>): string {
  const database = databaseOf(storage)
  const [own, usual] = database === undefined ? [basename(file), 'gateway.yaml'] : [basename(database), 'tollgate.db']
  return own === usual ? name : `${name}-${own}`
}

function databaseOf(storage: string): string | undefined {
  return /^sqlite:(?:\/\/)?(?!:memory:)(.+)$/.exec(storage)?.[1]
}

/**
 * The folder of the database, if it is a file; then systemd's directory for the service; then the folder of the
 * configuration.
 */
function placesFor(
  { storage, file }: Pick<CompiledConfig, 'storage' | 'file'>,
  env: NodeJS.ProcessEnv,
): readonly string[] {
  const database = databaseOf(storage)
  const state = env['STATE_DIRECTORY']?.split(':')[0]
  return [
    ...(database === undefined ? [] : [dirname(resolve(database))]),
    ...(state === undefined || state === '' ? [] : [state]),
    dirname(resolve(file)),
  ]
}
