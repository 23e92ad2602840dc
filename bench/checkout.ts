import { spawnSync } from 'node:child_process'
import { symlink } from 'node:fs/promises'
import { join } from 'node:path'

const root = new URL('..', import.meta.url).pathname

/** Another commit of this repository in a folder of its own, with the packages installed here. */
export type Checkout = { readonly commit: string; readonly folder: string; close(): void }

/**
 * Checks a commit out below `folder`, as a worktree. Reports if its packages differ from those installed.
 * @throws Error when there is no such commit
 */
export async function openCheckout(commit: string, folder: string): Promise<Checkout> {
  const short = git('rev-parse', '--short', `${commit}^{commit}`).trim()
  const path = join(folder, 'against')
  git('worktree', 'add', '--detach', '--force', path, short)
  await symlink(join(root, 'node_modules'), join(path, 'node_modules'))
  if (dependenciesOf(short) !== dependenciesOf('HEAD'))
    process.stderr.write(`bench: ${short} asks for other packages than are installed, and runs with these\n`)
  return { commit: short, folder: path, close: () => void git('worktree', 'remove', '--force', path) }
}

function dependenciesOf(commit: string): string {
  const { dependencies } = JSON.parse(git('show', `${commit}:package.json`)) as { dependencies: object }
  return JSON.stringify(dependencies)
}

function git(...words: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync('git', words, { cwd: root, encoding: 'utf8' })
  if (status !== 0) throw new Error(`git ${words.join(' ')}: ${stderr.trim()}`)
  return stdout
}
