import { join } from 'node:path'

export type Command = { readonly run: string; readonly args: readonly string[]; readonly cwd: string }

/**
 * A language or a kind of client: required programs on the machine, its one-time setup, and the programs that make
 * calls.
 */
export type Language = {
  readonly name: string
  /** Required commands; each must succeed with its arguments. */
  readonly tools: readonly (readonly [command: string, ...args: string[]])[]
  readonly prepare: (folder: string) => readonly Command[]
  readonly programs: (folder: string) => readonly Command[]
}

const command = (cwd: string, run: string, ...args: readonly string[]): Command => ({ run, args, cwd })

/** A Python environment in the folder, with the packages of a requirements file. */
function environment(folder: string, name: string, requirements: string): readonly Command[] {
  return [
    command(folder, 'python3', '-m', 'venv', name),
    command(folder, inside(folder, name), '-m', 'pip', ...quiet, 'install', '-r', requirements),
  ]
}

const quiet = ['--quiet', '--disable-pip-version-check']
const inside = (folder: string, name: string): string => join(folder, name, 'bin', 'python')

/** Each works in a copy of the folder next to this file that has its name. */
export const languages: readonly Language[] = [
  {
    name: 'node',
    tools: [['npm', '--version']],
    prepare: folder => [
      command(folder, 'npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'),
    ],
    programs: folder => ['ai-sdk.js', 'langchain.js'].map(file => command(folder, process.execPath, file)),
  },
  {
    name: 'python',
    tools: [['python3', '-m', 'venv', '--help']],
    prepare: folder => ['langchain', 'litellm'].flatMap(name => environment(folder, `${name}.venv`, `${name}.txt`)),
    programs: folder =>
      ['langchain', 'litellm'].map(name => command(folder, inside(folder, `${name}.venv`), `try_${name}.py`)),
  },
  {
    name: 'go',
    tools: [['go', 'version']],
    prepare: folder => [command(folder, 'go', 'build', '-mod=readonly', '-p=1', '-o', 'bin/', './...')],
    programs: folder => ['go-openai', 'openai-go'].map(name => command(folder, join(folder, 'bin', name))),
  },
  {
    name: 'rust',
    tools: [['cargo', '--version']],
    prepare: folder => [command(folder, 'cargo', 'build', '--locked', '--quiet', '-j1')],
    programs: folder => [command(folder, join(folder, 'target', 'debug', 'clients'))],
  },
  {
    name: 'java',
    tools: [
      ['java', '-version'],
      ['mvn', '--version'],
    ],
    prepare: folder => [command(folder, 'mvn', '-q', '-B', '-ntp', 'package', 'dependency:copy-dependencies')],
    programs: folder => [
      command(folder, 'java', '-cp', ['target/classes', 'target/dependency/*'].join(':'), 'clients.TryOpenai'),
    ],
  },
  {
    name: 'suites',
    tools: [['python3', '-m', 'venv', '--help']],
    prepare: folder => [
      ...environment(folder, 'venv', 'requirements.txt'),
      command(folder, inside(folder, 'venv'), '-m', 'pip', ...quiet, ...download),
    ],
    programs: folder =>
      ['openai', 'anthropic'].map(name => command(folder, inside(folder, 'venv'), 'run_suite.py', name)),
  },
]

/** Only the source packages contain their tests. */
const download = ['download', '--no-deps', '--no-binary', ':all:', '--dest', 'sources', '-r', 'sources.txt']
