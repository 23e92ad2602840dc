import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** The StrykerJS version that the figures are based on. */
const version = '10.1.1'

/** One change to a file: `replacement` replaces the text between two positions, whose lines begin at 0. */
export type Mutant = {
  readonly id: string
  readonly mutatorName: string
  readonly replacement: string
  readonly location: { readonly start: Place; readonly end: Place }
}
type Place = { readonly line: number; readonly column: number }

type Instrumenter = {
  instrument(
    files: readonly { name: string; content: string; mutate: boolean }[],
    options: object,
  ): Promise<{ readonly files: readonly { readonly content: string }[]; readonly mutants: readonly Mutant[] }>
}

/**
 * Creates StrykerJS's mutants of a file. The project does not depend on its instrumenter, which is installed into
 * `folder` at the first use.
 * @returns the mutants, and a text with all of them, from which the environment selects one
 */
export async function instrument(
  path: string,
  folder: string,
): Promise<{ readonly text: string; readonly mutants: readonly Mutant[] }> {
  const home = install(folder)
  const require = createRequire(join(home, 'package.json'))
  const { Instrumenter } = (await import(pathToFileURL(require.resolve('@stryker-mutator/instrumenter')).href)) as {
    Instrumenter: new (log: object) => Instrumenter
  }
  const silent = Object.fromEntries(
    ['trace', 'debug', 'info', 'warn', 'error', 'fatal'].map(level => [level, () => undefined]),
  )
  const instrumenter = new Instrumenter({ ...silent, isDebugEnabled: () => false })
  const options = { plugins: null, excludedMutations: [], ignorers: [], mutator: { plugins: null } }
  const content = readFileSync(path, 'utf8')
  const { files, mutants } = await instrumenter.instrument([{ name: path, content, mutate: true }], options)
  return {
    text: files[0]?.content ?? '',
    mutants: mutants.filter(one => !('status' in one) || one.status !== 'Ignored'),
  }
}

function install(folder: string): string {
  const home = join(folder, `instrumenter-${version}`)
  if (existsSync(join(home, 'node_modules/@stryker-mutator/instrumenter'))) return home
  mkdirSync(home, { recursive: true })
  writeFileSync(join(home, 'package.json'), '{"private":true}')
  const args = ['install', '--no-audit', '--no-fund', '--ignore-scripts', `@stryker-mutator/instrumenter@${version}`]
  execFileSync('npm', args, { cwd: home, stdio: ['ignore', 'ignore', 'inherit'] })
  return home
}
