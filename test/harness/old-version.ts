import { execFile } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type ChildGateway, watchGateway } from './child.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../..', import.meta.url))
/** The line with the key that the gateway's own process prints. */
type Made = { readonly id: string; readonly key: string }

/** The program at an earlier commit, run by the current Node with the current packages. */
export type OldVersion = {
  readonly commit: string
  /** Runs that version's `tollgate …` on a storage. @throws Error when it fails */
  tollgate(storage: string, ...words: readonly string[]): Promise<string>
  /** Creates a key of a user in the group `partner`. */
  createKey(storage: string, user: string): Promise<Made>
  serve(storage: string): ChildGateway
}

/** Why there is nothing to unpack; false when there is. A clone with `--depth` has no earlier commits. */
export async function commitMissing(commit: string): Promise<false | string> {
  try {
    await run('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: root })
    return false
  } catch {
    return `this clone has no commit ${commit}: its history is shallow, and git fetch --unshallow completes it`
  }
}

/** Unpacks an earlier commit into a folder. Its request limits are high enough that no request is refused. */
export async function unpackVersion(commit: string, folder: string): Promise<OldVersion> {
  mkdirSync(folder, { recursive: true })
  const archive = join(folder, 'old.tar')
  await run('git', ['archive', '-o', archive, commit, 'src', 'plugins', 'package.json', 'gateway.yaml'], { cwd: root })
  await run('tar', ['-xf', archive, '-C', folder])
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  const config = join(folder, 'old.yaml')
  const shipped = await readFile(join(folder, 'gateway.yaml'), 'utf8')
  const text = shipped.replaceAll(/\brpm: \d+/g, 'rpm: 1000000').replaceAll(/\btpm: \d+/g, 'tpm: 1000000000')
  if (text === shipped) throw new Error(`the configuration of ${commit} has no limits to raise`)
  await writeFile(config, text)
  const bin = join(folder, 'src/cli/bin.ts')
  const envOf = (storage: string): NodeJS.ProcessEnv => ({
    ...process.env,
    TOLLGATE_LISTEN: '127.0.0.1:0',
    TOLLGATE_OPS: '127.0.0.1:0',
    TOLLGATE_STORAGE: storage,
    NODE_COMPILE_CACHE: join(folder, 'compiled'),
  })

  async function tollgate(storage: string, ...words: readonly string[]): Promise<string> {
    const { stdout } = await run(process.execPath, [bin, ...words, '-c', config], { env: envOf(storage) })
    return stdout
  }
  return {
    commit,
    tollgate,
    async createKey(storage, user) {
      await tollgate(storage, 'users', 'create', user, '--group', 'partner')
      return JSON.parse(await tollgate(storage, 'keys', 'create', '--name', user, '--user', user, '--format', 'json'))
    },
    serve: storage => watchGateway(process.execPath, [bin, 'serve', '-c', config], { env: envOf(storage) }),
  }
}
