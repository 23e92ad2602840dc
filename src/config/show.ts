import type { Environment } from './environment.ts'
import { fillTree } from './fill.ts'
import { parseReferences } from './interpolate.ts'
import { readYaml } from './load.ts'
import { Report } from './report.ts'
import { gatherSecrets } from './secrets.ts'
import { Source } from './source.ts'
import { formatPath, type ScalarTree, scalarsOf, type Span } from './tree.ts'

/** A configuration for people: its text as written, and every value of it with its place and where it came from. */
export type ShownConfig = {
  readonly text: string
  readonly origins: readonly {
    readonly path: string
    readonly value: string
    readonly line: number
    /** `default`: of a reference that has one, and whose variable is not set. */
    readonly from: 'file' | 'environment' | 'default'
  }[]
}

const cover = '***'
/** In the text: plain `***` would be an alias to YAML. */
const coverInText = '•••'

/** Shows a configuration without what is secret in it. Values that cannot be filled in are left out. */
export async function showConfig(file: string, given: string, env: Environment): Promise<ShownConfig> {
  const source = new Source(file, given.replace(/^\uFEFF/, ''))
  const { root: written } = readYaml(source.text)
  const { root, loose } = written
    ? await fillTree(written, source, env, new Report(source))
    : { root: undefined, loose: [] }
  const secrets = gatherSecrets(root, source.text, loose)
  if (!root || !written) return { text: secrets.mask(source.text), origins: [] }
  const covered = coverSpans(source.text, secrets.spans)
  // What is commented out is no value, and may be an old credential all the same.
  const text = covered.replaceAll(/(?<=^|\s)#.*$/gm, comment => secrets.mask(comment))
  const asWritten = new Map([...scalarsOf(written)].map(([scalar, path]) => [formatPath(path), scalar]))
  const origins = [...scalarsOf(root)].flatMap(([scalar, path]) => {
    if (scalar.unknown) return []
    const name = formatPath(path)
    const value = scalar.secret ? cover : secrets.mask(String(scalar.value))
    const { line } = source.locate(scalar.span.start)
    return [{ path: secrets.mask(name), value, line, from: sourceOf(asWritten.get(name), env) }]
  })
  return { text, origins }
}

function sourceOf(scalar: ScalarTree | undefined, env: Environment): 'file' | 'environment' | 'default' {
  if (typeof scalar?.value !== 'string') return 'file'
  const references = parseReferences(scalar.value).filter(piece => typeof piece !== 'string')
  if (references.length === 0) return 'file'
  const isSet = references.some(
    one => one.kind === 'file' || (one.kind === 'variable' && Object.hasOwn(env, one.name) && env[one.name] !== ''),
  )
  return isSet ? 'environment' : 'default'
}

/** From the end on, so that the places before stay where they are. Empty parts have nothing to cover. */
function coverSpans(text: string, spans: readonly Span[]): string {
  let covered = text
  for (const { start, end } of spans.toSorted((a, b) => b.start - a.start)) {
    const part = text.slice(start, end)
    if (/[^\s"'}]/.test(part)) covered = covered.slice(0, start) + keepEdges(part) + covered.slice(end)
  }
  return covered
}

/** Quotes and the brace that ends a reference are no secret, and YAML needs them. */
function keepEdges(part: string): string {
  const [, open = '', close = ''] = /^(["']?(?:Bearer\s+)?\}?).*?(\}?["']?)$/s.exec(part) ?? []
  const kept = part.length > open.length + close.length
  return kept ? `${open}${coverInText}${close}` : part
}
