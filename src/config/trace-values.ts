import type { Environment } from './environment.ts'
import { parseReferences } from './interpolate.ts'
import type { Filled } from './read-filled.ts'
import { findNode, formatPath, type Path, type ScalarTree, scalarsOf } from './tree.ts'

/** One value of a configuration, and its origin. */
export type TracedValue = {
  readonly path: string
  /** Redacted if it is a secret. */
  readonly value: string
  /** Null for a default that the file does not mention. */
  readonly line: number | null
  /** Its file; null for a default. */
  readonly file: string | null
  readonly col: number | null
  /** `default`: from the schema, or from a reference with a default whose variable is not set. */
  readonly from: 'file' | 'environment' | 'default'
  /** The variables and secret files that the value refers to, set or not. */
  readonly references: readonly string[]
}

const cover = '***'

/** The values in a file, in order. Values that could not be filled in are left out. */
export function traceValues(read: Filled, env: Environment): readonly TracedValue[] {
  return [...scalarsOf(read.filled)].flatMap(([scalar, path]) =>
    scalar.unknown ? [] : [traceScalar(scalar, path, read, env)],
  )
}

/** The same with every default of the schema, in the order of `settings`: the file's value with defaults. */
export function traceSettings(settings: unknown, read: Filled, env: Environment): readonly TracedValue[] {
  const values: TracedValue[] = []
  const walk = (value: unknown, path: Path): void => {
    const { node, whole } = findNode(read.filled, path)
    const scalar = whole && node.kind === 'scalar' ? node : undefined
    if (scalar && !scalar.unknown) values.push(traceScalar(scalar, path, read, env))
    const below = entriesOf(value)
    if (below.length > 0) for (const [step, inner] of below) walk(inner, [...path, step])
    else if (!scalar && value !== undefined) {
      const at = whole ? read.source.locate(node.span.start) : undefined
      values.push({
        path: formatPath(path),
        value: typeof value === 'string' ? value : JSON.stringify(value),
        line: at?.line ?? null,
        file: at?.file ?? null,
        col: at?.col ?? null,
        from: at ? 'file' : 'default',
        references: [],
      })
    }
  }
  walk(settings, [])
  return values
}

function entriesOf(value: unknown): readonly (readonly [string | number, unknown])[] {
  if (Array.isArray(value)) return [...value.entries()]
  return typeof value === 'object' && value !== null ? Object.entries(value) : []
}

function traceScalar(
  scalar: ScalarTree,
  path: Path,
  { source, written, secrets }: Filled,
  env: Environment,
): TracedValue {
  const { node } = findNode(written, path)
  const { file, line, col } = source.locate(scalar.span.start)
  return {
    path: secrets.mask(formatPath(path)),
    value: scalar.secret ? cover : secrets.mask(String(scalar.value)),
    file,
    line,
    col,
    ...sourceOf(node.kind === 'scalar' ? node.value : null, env),
  }
}

function sourceOf(value: ScalarTree['value'], env: Environment): Pick<TracedValue, 'from' | 'references'> {
  const names: string[] = []
  let isSet = false
  for (const piece of typeof value === 'string' ? parseReferences(value) : []) {
    if (typeof piece === 'string' || piece.kind === 'malformed') continue
    names.push(piece.kind === 'file' ? piece.file : piece.name)
    isSet ||= piece.kind === 'file' || (Object.hasOwn(env, piece.name) && env[piece.name] !== '')
  }
  const references = [...new Set(names)]
  if (references.length === 0) return { from: 'file', references }
  return { from: isSet ? 'environment' : 'default', references }
}
