import type { AnyPlugin } from '../kit/index.ts'
import { composeSchema, type SchemaData } from './gateway-schema.ts'
import type { Pipeline } from './pipeline.ts'
import { reportSchemaErrors } from './report-schema-errors.ts'
import type { Report } from './report.ts'
import type { Source } from './source.ts'
import { mapScalars, type Path, type ScalarTree, toValue, type Tree } from './tree.ts'
import type { SchemaError, Validator } from './schema-error.ts'
import { createValidator } from './validate.ts'

type Compiled = { readonly validator: Validator; readonly schema: SchemaData }
type Fitted = { readonly settings: unknown; readonly schema: SchemaData }

/** Holds the tree against the schema and hands over its value with defaults filled in, as far as it fits. */
export async function fitTree(root: Tree, pipeline: Pipeline, source: Source, report: Report): Promise<Fitted> {
  const { validator, schema } = await compileFor(pipeline, report)
  let value = spellOutSteps(toValue(root), pipeline)
  let schemaErrors = validator.validate(value)
  const retyped = retypeFilled(root, schemaErrors)
  if (retyped !== root) {
    value = spellOutSteps(toValue(retyped), pipeline)
    schemaErrors = validator.validate(value)
  }
  reportSchemaErrors(schemaErrors, retyped, source, report)
  return { settings: value, schema }
}

/** A plugin whose schema is none is reported, and its options and sections are then taken as they are. */
async function compileFor({ steps, plugins, unopened }: Pipeline, report: Report): Promise<Compiled> {
  try {
    return await compile(composeSchema(plugins, unopened))
  } catch (error) {
    const sound = new Map(plugins)
    const failed: string[] = []
    for (const { name, path, plugin } of steps) {
      const diagnostic = plugin && (await compileFault(name, plugin))
      if (diagnostic === undefined) continue
      const message = `the schema of the plugin '${name}' cannot be used: ${diagnostic}`
      report.atValue(path, { code: 'plugin_failed', message, remedy: 'this is for its author to mend' })
      sound.delete(name)
      failed.push(name, plugin?.name ?? name)
    }
    if (failed.length === 0) throw error
    return compile(composeSchema(sound, [...unopened, ...failed]))
  }
}

async function compile(schema: SchemaData): Promise<Compiled> {
  return { validator: await createValidator(schema), schema }
}

async function compileFault(step: string, plugin: AnyPlugin): Promise<string | undefined> {
  try {
    await createValidator(composeSchema(new Map([[step, plugin]])))
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** `- auth` means `- auth: {}`, so that the options' defaults have a place to go. */
function spellOutSteps(value: unknown, { plugins }: Pipeline): unknown {
  const settings = value as { pipeline?: unknown }
  if (typeof settings !== 'object' || settings === null || !Array.isArray(settings.pipeline)) return value
  const pipeline = settings.pipeline.map(step =>
    typeof step === 'string' && plugins.has(step) ? { [step]: {} } : step,
  )
  return { ...settings, pipeline }
}

/** What `${VAR}` gave is text; where the schema wants a number or a yes or no, it is read as one. */
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
