import { findConfigKey, traceConfig, type TracedValue } from '../../index.ts'
import { Exit, exitCodes, print } from '../exit.ts'
import { showFindings } from '../show-findings.ts'
import { safeLine } from '../safe-text.ts'

type Options = { readonly config: string; readonly showOrigin: boolean; readonly format: string }

/** Prints the effective configuration, or the part below a key. */
export async function showConfig(key: string | undefined, options: Options): Promise<void> {
  const traced = await traceConfig(options.config)
  if (!traced.ok) throw new Exit(exitCodes.configInvalid, await showFindings(traced.findings))
  const values = traced.values.filter(({ path }) => key === undefined || isBelow(path, key))
  if (key !== undefined && values.length === 0)
    throw new Exit(exitCodes.usage, await describeMissing(key, options.config))
  if (options.format === 'json')
    return print(values.map(value => JSON.stringify({ ...value, file: value.file ?? options.config })).join('\n'))
  const lines = values.map(value => `${value.path}: ${safeLine(value.value)}`)
  const width = Math.min(64, Math.max(...lines.map(line => line.length)))
  const origins = values.map(value => describeOrigin(value, options.config))
  print(lines.map((line, i) => (options.showOrigin ? `${line.padEnd(width)}  # ${origins[i] ?? ''}` : line)).join('\n'))
}

function isBelow(path: string, key: string): boolean {
  return path === key || path.startsWith(`${key}.`) || path.startsWith(`${key}[`)
}

async function describeMissing(key: string, file: string): Promise<string> {
  const found = await findConfigKey(key)
  if (found.ok) return `error: ${key} is not set in ${file}, and has no default\n(see tollgate docs ${key})`
  const [near] = found.near
  return near === undefined
    ? `error: there is no key '${key}'`
    : `error: there is no key '${key}'\n(Did you mean ${near}?)`
}

function describeOrigin({ from, file: own, line, col, references }: TracedValue, file: string): string {
  const place = line === null ? '' : `${own ?? file}:${line}:${col ?? 1}`
  if (from === 'environment') return `environment ${references.join(', ')}, ${place}`
  if (from === 'file') return place
  return references.length > 0 ? `default of ${references.join(', ')}, ${place}` : 'default'
}
