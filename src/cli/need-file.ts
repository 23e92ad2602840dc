import { access, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isPostgres } from '../index.ts'
import { Exit, exitCodes } from './exit.ts'

/** Reports a missing file, or a folder in its place, before any work begins. @throws Exit with the code */
export async function needFile(file: string, code: number): Promise<void> {
  if (await isFolder(file, code)) throw new Exit(code, `${file} is a folder; expected a file`)
}

/** Reports missing files of an import; a database at an address is no file. @throws Exit */
export async function needSources(...files: readonly (string | undefined)[]): Promise<void> {
  for (const file of files) if (file !== undefined && !isPostgres(file)) await needFile(file, exitCodes.failure)
}

/** The same for a source that may be a folder. */
export async function needFileOrFolder(source: string): Promise<void> {
  if (!isPostgres(source)) await isFolder(source, exitCodes.failure)
}

/** @throws Exit with the code if there is neither a file nor a folder */
async function isFolder(file: string, code: number): Promise<boolean> {
  const found = await stat(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') throw new Exit(code, `${file} does not exist`)
  })
  return found?.isDirectory() ?? false
}

/** Reports an output file whose folder does not exist. @throws Exit with the code of usage */
export async function needFolderOf(file: string): Promise<void> {
  const folder = dirname(file)
  await access(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') throw new Exit(exitCodes.usage, `${file}: the folder ${folder} does not exist`)
  })
}
