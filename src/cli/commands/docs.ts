import { findConfigKey, type KeyFacts, listConfigKeys } from '../../index.ts'
import { Exit, exitCodes, print } from '../exit.ts'
import { formatTable } from '../table.ts'

/** Describes a key of the configuration; without one, all top-level keys. */
export async function docs(name: string | undefined, { format }: { readonly format: string }): Promise<void> {
  if (name === undefined) {
    const top = (await listConfigKeys()).filter(({ path }) => !path.includes('.'))
    return print(format === 'json' ? JSON.stringify(top) : formatTable(['KEY', 'WHAT'], top.map(toRow)))
  }
  const found = await findConfigKey(name)
  if (!found.ok) throw new Exit(exitCodes.usage, describeNear(name, found.near))
  print(format === 'json' ? JSON.stringify(found.facts) : describe(found.facts))
}

function toRow({ path, description }: KeyFacts): readonly string[] {
  return [path, description]
}

function describeNear(name: string, near: readonly string[]): string {
  const [only, ...more] = near
  if (only === undefined) return `error: there is no key '${name}'\n(tollgate docs lists the top-level keys)`
  if (more.length === 0) return `error: there is no key '${name}'\n(Did you mean ${only}?)`
  return `error: '${name}' is not the path of one key\n(Did you mean one of ${near.join(', ')}?)`
}

function describe(facts: KeyFacts): string {
  const rows: readonly (readonly [string, string | undefined])[] = [
    ['type', facts.required ? `${facts.type} (required)` : facts.type],
    ['default', facts.default],
    ['allowed', facts.allowed],
    ['keys', facts.keys.length > 0 ? facts.keys.join(', ') : undefined],
    ['example', facts.example === undefined ? undefined : `${facts.path.split('.').at(-1) ?? ''}: ${facts.example}`],
  ]
  const lines = rows.flatMap(([label, text]) => (text === undefined ? [] : [`  ${label.padEnd(8)} ${text}`]))
  return [facts.path, `  ${facts.description}`, ...lines].join('\n')
}
