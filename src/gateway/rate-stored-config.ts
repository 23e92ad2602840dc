import { dirname, resolve } from 'node:path'
import { type ConfigTexts, coveredText, type Environment } from '../config/index.ts'
import type { StoredConfig, CompiledConfig, ConfigSettings } from '../domain/index.ts'

const covers = /•••|\*{3}|\$\{file:[^{}]*\}/g
const bareVariable = /\$\{(\w+)(?::\?[^{}]*)?\}/g

/**
 * A stored configuration in a form that can be parsed for its prices: placeholders replace secrets and variables that
 * the active one does not use, and no other file is read. Undefined if a text was too long to store.
 */
export function readableAgain(
  { files }: Pick<StoredConfig, 'files'>,
  inUse: CompiledConfig,
  env: Environment,
): { readonly texts: ConfigTexts; readonly env: Environment } | undefined {
  const [main, ...others] = files
  if (typeof main?.text !== 'string') return undefined
  const folder = dirname(resolve(inUse.file))
  let count = 0
  // Each placeholder differs, because otherwise two keys of a vendor would be equal.
  const bare = (text: string): string => text.replaceAll(covers, () => coveredText(++count))
  const parts: { [path: string]: string } = {}
  for (const { file, text } of others) {
    if (text === null) return undefined
    parts[resolve(folder, file)] = bare(text)
  }
  const text = bare(main.text)
  const { variables = new Set<string>() } = inUse
  const known = Object.fromEntries([...variables].map(name => [name, env[name]]))
  for (const one of [text, ...Object.values(parts)])
    for (const [, name = ''] of one.matchAll(bareVariable)) if (!variables.has(name)) known[name] = coveredText(name)
  return { texts: { file: inUse.file, text, parts }, env: known }
}

const cover = '***'
/** The paths of settings that charges depend on. */
const termsPath = /^(?:models|groups|families|currency)\b/
const pricePath = /^(?:currency$|models[.[].*\.prices?(?:[.[]|$)|groups[.[].*\.multiplier$)/

/**
 * Whether the parsed configuration charges as it did when it was active. A variable may have changed, or a redacted
 * text may have been a price. Settings that exist in only one of the two gateway versions are ignored.
 */
export function chargesAlike(then: ConfigSettings, now: ConfigSettings): boolean {
  return [...new Set([...Object.keys(then), ...Object.keys(now)])].every(path => {
    const [was, is] = [then[path], now[path]]
    if (was === is || !termsPath.test(path)) return true
    if (pricePath.test(path)) return false
    return was === undefined || is === undefined || was === cover || is === cover
  })
}
