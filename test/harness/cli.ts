import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Ran, runCommand } from './commands.ts'

const shipped = fileURLToPath(new URL('../../gateway.yaml', import.meta.url))

let parts = 0

export type CliResult = Ran

/** Runs `tollgate …` on the storage of a running gateway. */
export async function runCli(
  place: {
    readonly folder: string
    readonly storage?: string
    /** The text of the configuration; the shipped one when absent. */
    readonly yaml?: string
    readonly env?: { readonly [name: string]: string }
  },
  ...args: readonly string[]
): Promise<CliResult> {
  const { folder, storage, yaml, env } = place
  const config = join(folder, 'cli.yaml')
  // Renamed atomically: another command may be reading it.
  const part = `${config}.${++parts}`
  await writeFile(part, yaml ?? (await readFile(shipped, 'utf8')))
  await rename(part, config)
  return runCommand(
    { env: { ...process.env, TOLLGATE_STORAGE: storage ?? `sqlite:${join(folder, 'tollgate.db')}`, ...env } },
    [...args, '-c', config],
  )
}
