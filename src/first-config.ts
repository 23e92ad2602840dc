import { access, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { findPackage } from './package-root.ts'

/** What differs from the configuration that comes with the package. */
export type FirstAnswers = {
  /** By name of an upstream: where it is. Those that are not here stay simulated. */
  readonly upstreams: ReadonlyMap<string, string>
  readonly currency?: string
  readonly listen?: string
  readonly ops?: string
  readonly storage?: string
  readonly counters?: string
}

/** What a new folder gets. */
export type FirstDraft = {
  /** By their name in the folder. */
  readonly files: { readonly 'gateway.yaml': string; readonly '.env.example': string }
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
const simulated = /\$\{([A-Z]+)_URL:-simulator:([\w-]+)\}/g

/** Names of the upstreams that the shipped configuration has. */
export async function firstUpstreams(): Promise<readonly string[]> {
  return [...(await readShipped()).matchAll(simulated)].map(match => match[2] ?? '')
}

/** The shipped configuration with these answers in it, for a folder; and the variables that it reads, for people. */
export async function draftFirst(folder: string, answers: FirstAnswers): Promise<FirstDraft> {
  let text = await readShipped()
  for (const [key, name] of Object.entries(variables)) {
    const value = answers[key as keyof typeof variables]
    if (value !== undefined) text = withDefault(text, name, value)
  }
  for (const [name, url] of answers.upstreams) text = withDefault(text, `${name.toUpperCase()}_URL`, url)
  if (answers.currency !== undefined) text = text.replace(/^currency: .*$/m, `currency: ${answers.currency}`)
  text = text
    .replace(/^# yaml-language-server: .*$/m, `# yaml-language-server: $schema=${await schemaFor(folder)}`)
    .replaceAll(/npm run tollgate -- (\w+)/g, (command, word: string) => `npx tollgate ${word}`.padEnd(command.length))
  return { files: { 'gateway.yaml': text, '.env.example': writeExample(text) }, ignores }
}

async function readShipped(): Promise<string> {
  return readFile(join((await findPackage()).root, 'gateway.yaml'), 'utf8')
}

/** The schema of the package where it is installed in the folder, else that of the package that runs. */
async function schemaFor(folder: string): Promise<string> {
  const installed = './node_modules/tollgate/schemas/gateway.schema.json'
  const there = await access(resolve(folder, installed)).then(
    () => true,
    () => false,
  )
  return there ? installed : join((await findPackage()).root, 'schemas/gateway.schema.json')
}

function withDefault(text: string, variable: string, value: string): string {
  return text.replace(new RegExp(`(\\$\\{${variable}:-)[^}]*`), (_, head: string) => head + value)
}

function writeExample(text: string): string {
  const seen = new Map<string, string>()
  const settings = text.replaceAll(/^\s*#.*$/gm, '')
  for (const [, name = '', value = ''] of settings.matchAll(/\$\{([A-Z][A-Z0-9_]*):-([^}]*)\}/g))
    if (!seen.has(name)) seen.set(name, value)
  return [
    '# What gateway.yaml reads from the environment, with what it takes when a variable is not set.',
    '# Copy this to .env, which stays out of git, and start with: set -a; . ./.env; set +a; npx tollgate serve',
    ...[...seen].map(([name, value]) => `# ${name}=${value}`),
    '',
  ].join('\n')
}
