import { PartFiles, type PartTexts } from './compose/part-files.ts'
import type { Environment } from './environment.ts'
import { interpolate } from './interpolate.ts'
import { readBroken } from './load.ts'
import { readFilled } from './read-filled.ts'
import { Report } from './report.ts'
import { coverSpans, isBareReference, maskAddresses, type Secrets } from './secrets.ts'
import { Source } from './source.ts'
import { type TracedValue, traceValues } from './trace-values.ts'
import { findNode, type Path, type Tree } from './tree.ts'

/** A configuration for people: its text, and every value with its place and source. */
export type ShownConfig = { readonly text: string; readonly origins: readonly TracedValue[] }

/** The replacement in texts, because a plain `***` would be an alias in YAML. */
const coverInText = '•••'

/** Shows a configuration without its secrets. Values that cannot be filled in are left out. */
export async function showConfig(
  file: string,
  given: string,
  env: Environment,
  parts?: PartTexts,
): Promise<ShownConfig> {
  const source = new Source(file, given.replace(/^\uFEFF/, ''))
  const read = await readFilled(source, env, new Report(source), { parts: new PartFiles(parts) })
  const { secrets } = read
  if (!read.written) return { text: secrets.mask(source.ownText), origins: [] }
  return { text: showOwnText(source.ownText, secrets), origins: traceValues(read, env) }
}

/** One text of a file with syntax errors, with its variables filled in; undefined if it is missing. */
export function showBroken(text: string, path: Path, env: Environment): string | undefined {
  const root = readBroken(text.replace(/^\uFEFF/, ''))
  const { node, whole } = findNode(root ?? nothing, path)
  if (!whole || node.kind !== 'scalar' || typeof node.value !== 'string') return undefined
  const filled = interpolate(node.value, env, new Map())
  return filled.ok ? filled.text : undefined
}

const nothing: Tree = { kind: 'list', span: { start: 0, end: 0 }, elements: [] }

/** The text of the main file, followed by all others. */
export function showOwnText(text: string, secrets: Secrets): string {
  const spans = secrets.spans.filter(span => span.end <= text.length)
  const covered = coverSpans(text, spans, part => (/[^\s"'}]/.test(part) ? keepEdges(part) : part))
  // A comment is not a value, but may contain an old credential.
  const commented = covered.replaceAll(/(?<=^|\s)#.*$/gm, comment => secrets.mask(comment))
  return maskAddresses(commented, secret => (isBareReference(secret) ? secret : coverInText))
}

/** Quotes, the closing brace of a reference and the end of the line are not secret, and YAML needs them. */
function keepEdges(part: string): string {
  const [open = ''] = /^["']?(?:Bearer\s+(?!\s))?\}?/.exec(part) ?? []
  const text = part.trimEnd()
  const [edge = ''] = /\}?["']?$/.exec(text.slice(-2)) ?? []
  const close = edge + part.slice(text.length)
  const kept = part.length > open.length + close.length
  return kept ? `${open}${coverInText}${close}` : part
}
