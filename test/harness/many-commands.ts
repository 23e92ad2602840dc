import { spawn } from 'node:child_process'
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { CliResult } from './cli.ts'

const shipped = fileURLToPath(new URL('../../gateway.yaml', import.meta.url))

/**
 * Runs `tollgate …` many times in one process without a terminal, one after the other: starting a process costs more than most
 * commands do.
 */
export async function runMany(
  { folder, storage, env }: { readonly folder: string; readonly storage?: string; readonly env?: NodeJS.ProcessEnv },
  commands: readonly (readonly string[])[],
): Promise<readonly CliResult[]> {
  const config = join(folder, 'cli.yaml')
  await copyFile(shipped, config)
  const child = spawn(process.execPath, [import.meta.filename], {
    cwd: folder,
    env: { ...process.env, TOLLGATE_STORAGE: storage ?? `sqlite:${join(folder, 'tollgate.db')}`, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin.end(JSON.stringify(commands.map(words => words.map(word => (word === 'CONFIG' ? config : word)))))
  return JSON.parse(await text(child.stdout)) as readonly CliResult[]
}

const exitCode = (): number => Number(process.exitCode)

if (import.meta.main) {
  const { run } = await import('../../src/cli/run.ts')
  const commands = JSON.parse(await text(process.stdin)) as readonly (readonly string[])[]
  const results: CliResult[] = []
  // Each command listens.
  process.stdout.setMaxListeners(0)
  const write = process.stdout.write.bind(process.stdout)
  for (const words of commands) {
    const said = { stdout: '', stderr: '' }
    for (const name of ['stdout', 'stderr'] as const)
      process[name].write = (chunk: string | Uint8Array) => {
        said[name] += String(chunk)
        return true
      }
    process.exitCode = 0
    await run(['node', 'tollgate', ...words])
    results.push({ code: exitCode(), ...said })
  }
  process.exitCode = 0
  write(JSON.stringify(results), () => process.exit())
}
