import { access, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { findPackage } from '../gateway/package-root.ts'

/** The settings that differ from the shipped configuration. */
export type FirstAnswers = {
  /** Addresses by the name of the upstream. Other upstreams stay simulated. */
  readonly upstreams: ReadonlyMap<string, string>
  readonly currency?: string
  readonly listen?: string
  readonly ops?: string
  readonly storage?: string
  readonly counters?: string
}

/** The files of a new folder. */
export type FirstDraft = {
  /** File contents by name. */
  readonly files: {
    readonly 'gateway.yaml': string
    readonly '.env.example': string
    /** For editors, if the package is not installed in the folder: `tollgate schema` prints it again. */
    readonly 'gateway.schema.json'?: string
  }
  /** Lines of its .gitignore. */
  readonly ignores: readonly string[]
}

const ignores: readonly string[] = ['.env', 'data/', 'node_modules/']
const variables = {
  listen: 'TOLLGATE_LISTEN',
  ops: 'TOLLGATE_OPS',
  storage: 'TOLLGATE_STORAGE',
  counters: 'TOLLGATE_COUNTERS',
}
const installedSchema = './node_modules/tollgate/schemas/gateway.schema.json'
const modeline = /^# yaml-language-server: .*$/m
const simulated = /\$\{([A-Z]+)_URL:-simulator:([\w-]+)\}/g

/** Names of the upstreams in the shipped configuration. */
export async function firstUpstreams(): Promise<readonly string[]> {
  return [...(await readShipped('gateway.yaml')).matchAll(simulated)].map(match => match[2] ?? '')
}

/**
 * The shipped configuration with these answers, for a folder; and the variables that it reads, as documentation.
 * @param edit converts the shipped text to the initial text of the folder
 */
export async function draftFirst(
  folder: string,
  answers: FirstAnswers,
  edit = (shipped: string): string => shipped,
): Promise<FirstDraft> {
  let text = edit(await readShipped('gateway.yaml'))
  for (const [key, name] of Object.entries(variables)) {
    const value = answers[key as keyof typeof variables]
    if (value !== undefined) text = withDefault(text, name, value)
  }
  for (const [name, url] of answers.upstreams) text = withDefault(text, `${name.toUpperCase()}_URL`, url)
  if (answers.currency !== undefined) text = text.replace(/^currency: .*$/m, `currency: ${answers.currency}`)
  const installed = await isThere(resolve(folder, installedSchema))
  text = text
    .replace(modeline, `# yaml-language-server: $schema=${installed ? installedSchema : './gateway.schema.json'}`)
    .replaceAll(/npm run tollgate -- (\w+)/g, (command, word: string) => `npx tollgate ${word}`.padEnd(command.length))
  const files = { 'gateway.yaml': text, '.env.example': writeExample(text) }
  if (installed) return { files, ignores }
  return { files: { ...files, 'gateway.schema.json': await readShipped('schemas/gateway.schema.json') }, ignores }
}

export async function readShipped(name: string): Promise<string> {
  return readFile(join((await findPackage()).root, name), 'utf8')
}

async function isThere(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  )
}

function withDefault(text: string, variable: string, value: string): string {
  return text.replace(new RegExp(`(\\$\\{${variable}:-)[^}]*`), (_, head: string) => head + value)
}

function writeExample(text: string): string {
  const seen = new Map<string, readonly string[]>()
  const settings = text.replaceAll(/^[ \t]*#.*$/gm, '')
  for (const [, name = '', sign, rest = ''] of settings.matchAll(/\$\{([A-Z][A-Z0-9_]*)(?::([-?])([^{}]*))?\}/g))
    if (!seen.has(name)) seen.set(name, sign === '-' ? [`# ${name}=${rest}`] : exampleOfNeeded(name, rest))
  return [
    '# Environment variables of gateway.yaml, with their defaults.',
    '# Copy this to .env, which stays out of git, and start with: set -a; . ./.env; set +a; npx tollgate serve',
    ...[...seen.values()].flat(),
    '',
  ].join('\n')
}

/** Lines of .env.example for a variable that a valid configuration requires. */
function exampleOfNeeded(name: string, means: string): readonly string[] {
  return [`# Required${means === '' ? '' : `: ${means.replaceAll(/\s+/g, ' ')}`}`, `${name}=`]
}
