import { dirname, resolve } from 'node:path'
import type { ConfigTexts, Environment } from '../config/index.ts'
import type { KeptConfig, Plan } from '../kit/index.ts'

/** What stands for a secret in a text that is read for its prices alone: YAML of every kind takes it, and headers do. */
const stands = 'covered'
const covers = /•••|\*{3}/g
const secretFile = /\$\{file:[^}]*\}/g
const bareVariable = /\$\{(\w+)(?::\?[^}]*)?\}/g

/**
 * A configuration that is kept, as it can be read again for its prices: something stands for what is secret and for variables
 * that the one in use does not name, and no other file is read. Undefined where a text was too long to keep.
 */
export function readableAgain(
  { files }: Pick<KeptConfig, 'files'>,
  inUse: Plan,
  env: Environment,
): { readonly texts: ConfigTexts; readonly env: Environment } | undefined {
  const [main, ...others] = files
  if (typeof main?.text !== 'string') return undefined
  const folder = dirname(resolve(inUse.file))
  const parts: { [path: string]: string } = {}
  for (const { file, text } of others) {
    if (text === null) return undefined
    parts[resolve(folder, file)] = bare(text)
  }
  const text = bare(main.text)
  const { variables = new Set<string>() } = inUse
  const known = Object.fromEntries([...variables].map(name => [name, env[name]]))
  for (const one of [text, ...Object.values(parts)])
    for (const [, name = ''] of one.matchAll(bareVariable)) if (!variables.has(name)) known[name] = stands
  return { texts: { file: inUse.file, text, parts }, env: known }
}

function bare(text: string): string {
  return text.replaceAll(covers, stands).replaceAll(secretFile, stands)
}
