import { access } from 'node:fs/promises'
import { Exit } from './exit.ts'

/** Tells of a file that was named and is not there, before anything is done with it. @throws Exit with the code */
export async function needFile(file: string, code: number): Promise<void> {
  await access(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') throw new Exit(code, `${file} is not there`)
  })
}
