import { createFileValidator } from './file-validator.ts'
import type { SchemaData } from './gateway-schema.ts'
import type { Pipeline } from './pipeline.ts'
import { reportSchemaErrors } from './report-schema-errors.ts'
import type { Report } from './report.ts'
import type { Source } from './source.ts'
import { mapScalars, type Path, type ScalarTree, toValue, type Tree } from './tree.ts'
import type { SchemaError } from './validator.ts'

type Fitted = { readonly settings: unknown; readonly schema: SchemaData }

/** Validates the tree, and returns its valid parts as a value with defaults. */
export function validateConfig(root: Tree, pipeline: Pipeline, source: Source, report: Report): Fitted {
  const { validate, schema } = createFileValidator(pipeline, report)
  let value = spellOutSteps(toValue(root), pipeline)
  let schemaErrors = validate(value)
  const retyped = retypeFilled(root, schemaErrors)
  if (retyped !== root) {
    value = spellOutSteps(toValue(retyped), pipeline)
    schemaErrors = validate(value)
  }
  reportSchemaErrors(schemaErrors, retyped, source, report)
  return { settings: value, schema }
}

/** Expands `- auth` to `- auth: {}`, so that the options can have defaults. */
function spellOutSteps(value: unknown, { plugins }: Pipeline): unknown {
  const settings = value as { pipeline?: unknown }
  if (typeof settings !== 'object' || settings === null || !Array.isArray(settings.pipeline)) return value
  const pipeline = settings.pipeline.map(step =>
    typeof step === 'string' && plugins.has(step) ? { [step]: {} } : step,
  )
  return { ...settings, pipeline }
}

/** The value of `${VAR}` is text. Where the schema requires a number or a boolean, it is converted. */
function retypeFilled(root: Tree, schemaErrors: readonly SchemaError[]): Tree {
  const wanted = new Map<string, readonly string[]>()
  for (const { keyword, path, schema } of schemaErrors) {
    if (keyword === 'type') wanted.set(path.join('/'), ([] as string[]).concat(schema['type'] as string | string[]))
  }
  let changed = false
  const retyped = mapScalars(root, (scalar: ScalarTree, path: Path) => {
    const types = scalar.filled ? wanted.get(path.join('/')) : undefined
    const value = types && readAs(String(scalar.value), types)
    if (value === undefined) return scalar
    changed = true
    return { ...scalar, value }
  })
  return changed ? retyped : root
}

function readAs(text: string, types: readonly string[]): number | boolean | undefined {
  if (types.includes('boolean') && (text === 'true' || text === 'false')) return text === 'true'
  if (types.includes('integer') && /^-?\d+$/.test(text)) return Number(text)
  if (types.includes('number') && /^-?\d+(\.\d+)?$/.test(text)) return Number(text)
  return undefined
}
