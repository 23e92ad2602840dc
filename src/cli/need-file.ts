import { access } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Exit, exitCodes } from './exit.ts'

/** Reports a missing file before any work begins. @throws Exit with the code */
export async function needFile(file: string, code: number): Promise<void> {
  await access(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') throw new Exit(code, `${file} does not exist`)
  })
}

/** Reports missing sources of an import; a database at an address is no file. @throws Exit */
export async function needSources(...sources: readonly (string | undefined)[]): Promise<void> {
  for (const source of sources)
    if (source !== undefined && !/^postgres(?:ql)?:\/\//.test(source)) await needFile(source, exitCodes.failure)
}

/** Reports an output file whose folder does not exist. @throws Exit with the code of usage */
export async function needFolderOf(file: string): Promise<void> {
  const folder = dirname(file)
  await access(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') throw new Exit(exitCodes.usage, `${file}: the folder ${folder} does not exist`)
  })
}
