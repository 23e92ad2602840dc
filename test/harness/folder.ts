import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { type Ran, runCommand } from './commands.ts'
import { type Edits, editYaml } from './edit-yaml.ts'

export const root = fileURLToPath(new URL('../..', import.meta.url))
export const bin = join(root, 'src/cli/bin.ts')

export type { Ran }

/** An empty folder, and commands that run in it. */
export async function makeFolder(t: Test) {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-config-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const { ALPHA_URL: _a, BETA_URL: _b, TOLLGATE_STORAGE: _s, TOLLGATE_COUNTERS: _c, ...env } = process.env
  const start = async (command: string, args: readonly string[], more: NodeJS.ProcessEnv = {}): Promise<Ran> => {
    const child = spawn(command, args, { cwd: folder, env: { ...env, ...more }, stdio: ['ignore', 'pipe', 'pipe'] })
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
    return { code: code as number | null, stdout, stderr }
  }
  const path = (name: string): string => join(folder, name)
  return {
    folder,
    path,
    start,
    run: (...args: readonly string[]) => runCommand({ cwd: folder, env }, args),
    runWith: (more: NodeJS.ProcessEnv, ...args: readonly string[]) =>
      runCommand({ cwd: folder, env: { ...env, ...more } }, args),
    /** The shipped configuration with changes. */
    async write(name: string, ...edits: Edits) {
      await writeFile(path(name), editYaml(await readFile(join(root, 'gateway.yaml'), 'utf8'), edits))
    },
  }
}
