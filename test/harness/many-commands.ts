import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Ran, runCommand } from './commands.ts'

const shipped = fileURLToPath(new URL('../../gateway.yaml', import.meta.url))

/** Runs `tollgate …` many times in a folder, in sequence. `CONFIG` is a placeholder for the configuration's path. */
export async function runMany(
  { folder, storage, env }: { readonly folder: string; readonly storage?: string; readonly env?: NodeJS.ProcessEnv },
  commands: readonly (readonly string[])[],
): Promise<readonly Ran[]> {
  const config = join(folder, 'cli.yaml')
  await copyFile(shipped, config)
  const place = {
    cwd: folder,
    env: { ...process.env, TOLLGATE_STORAGE: storage ?? `sqlite:${join(folder, 'tollgate.db')}`, ...env },
  }
  return Promise.all(
    commands.map(words =>
      runCommand(
        place,
        words.map(word => (word === 'CONFIG' ? config : word)),
      ),
    ),
  )
}
