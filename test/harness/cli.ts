import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { text } from 'node:stream/consumers'

const bin = fileURLToPath(new URL('../../src/cli/bin.ts', import.meta.url))
const shipped = fileURLToPath(new URL('../../gateway.yaml', import.meta.url))

export type CliResult = { readonly code: number | null; readonly stdout: string; readonly stderr: string }

/** Runs `tollgate …` in a process of its own, on the storage of a gateway that is running. */
export async function runCli(
  place: {
    readonly folder: string
    readonly storage?: string
    /** The configuration; the shipped one when absent. */
    readonly yaml?: string
    readonly env?: { readonly [name: string]: string }
  },
  ...args: readonly string[]
): Promise<CliResult> {
  const { folder, storage, yaml, env } = place
  const config = join(folder, 'cli.yaml')
  if (yaml === undefined) await copyFile(shipped, config)
  else await writeFile(config, yaml)
  const child = spawn(process.execPath, [bin, ...args, '-c', config], {
    env: { ...process.env, TOLLGATE_STORAGE: storage ?? `sqlite:${join(folder, 'tollgate.db')}`, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code: code as number | null, stdout, stderr }
}
