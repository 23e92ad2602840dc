import {
  composeSchema,
  coreSchema,
  optionsSchema,
  type PluginsByStep,
  type SchemaData,
  schemaPaths,
} from './gateway-schema.ts'
import type { Pipeline } from './pipeline.ts'
import type { Report } from './report.ts'
import { createValidator, schemaAt, type SchemaError, type Validate } from './validator.ts'

type FileValidator = { readonly validate: Validate; readonly schema: SchemaData }

/**
 * Compiles the schema of a file from the core's schema and those of its plugins. A plugin with an invalid schema is
 * reported; its options and sections are then accepted without validation.
 */
export function createFileValidator({ steps, plugins, unopened }: Pipeline, report: Report): FileValidator {
  const sound = new Map(plugins)
  const failed: string[] = []
  // By name, because a pipeline may name a plugin twice; another check reports that.
  const ofOptions = new Map<string, Part>()
  const ofFamilies = new Map<string, Part>()
  for (const { name, path, plugin } of steps) {
    if (!plugin) continue
    try {
      ofOptions.set(name, compilePart(name, optionsSchema(plugin), schemaPaths.step))
      if (plugin.facet) ofFamilies.set(plugin.name, compilePart(plugin.name, plugin.facet, schemaPaths.family))
    } catch (error) {
      const diagnostic = error instanceof Error ? error.message : String(error)
      const message = `the schema of the plugin '${name}' cannot be used: ${diagnostic}`
      report.atValue(path, { code: 'plugin_failed', message, remedy: 'report this to the author of the plugin' })
      sound.delete(name)
      failed.push(name, plugin.name)
    }
  }
  const schema = composeSchema(sound, [...unopened, ...failed])
  const validateCore = createValidator(coreSchema)
  const validate: Validate = value => {
    const errors = [...validateCore(value)]
    const { pipeline, families, models } = isMapping(value) ? value : {}
    if (isMapping(families) && isMapping(models)) addTranslation(families, models, plugins)
    for (const [i, step] of Array.isArray(pipeline) ? pipeline.entries() : [])
      errors.push(...validateParts(step, ['pipeline', String(i)], ofOptions, schema, schemaPaths.step))
    for (const [name, family] of isMapping(families) ? Object.entries(families) : [])
      errors.push(...validateParts(family, ['families', name], ofFamilies, schema, schemaPaths.family))
    return errors
  }
  return { validate, schema }
}

/** The validator for one member of a step or a family, which a plugin defines. */
type Part = {
  readonly name: string
  readonly validate: Validate
  readonly schemaPath: string
  readonly byDefault: unknown
}

function compilePart(name: string, schema: SchemaData, holder: string): Part {
  const schemaPath = `${holder}/properties/${name}`
  return { name, validate: createValidator(schema), schemaPath, byDefault: schema['default'] }
}

/** The schema errors of a step or a family in the members of plugins, including members that no plugin defines. */
function validateParts(
  holder: unknown,
  path: readonly string[],
  parts: ReadonlyMap<string, Part>,
  whole: SchemaData,
  schemaPath: string,
): readonly SchemaError[] {
  if (!isMapping(holder)) return []
  const schema = schemaAt(whole, `${schemaPath}/additionalProperties`)
  const known = schema['properties'] as SchemaData
  const errors: SchemaError[] = Object.keys(holder).flatMap(additionalProperty =>
    Object.hasOwn(known, additionalProperty)
      ? []
      : {
          path,
          keyword: 'additionalProperties',
          params: { additionalProperty },
          schema,
          schemaPath: `${schemaPath}/additionalProperties`,
          key: undefined,
        },
  )
  for (const part of parts.values()) {
    if (holder[part.name] === undefined && part.byDefault !== undefined)
      holder[part.name] = structuredClone(part.byDefault)
    if (holder[part.name] === undefined) continue
    for (const error of part.validate(holder[part.name]))
      errors.push({
        ...error,
        path: [...path, part.name, ...error.path],
        schemaPath: part.schemaPath + error.schemaPath.slice(1),
      })
  }
  return errors
}

/** `accepts` of a model is enough: its family gets a section of the translating plugin with the defaults. */
function addTranslation(families: Mapping, models: Mapping, plugins: PluginsByStep): void {
  for (const { name, accepts } of plugins.values()) {
    if (!accepts) continue
    for (const model of Object.values(models)) {
      const family = isMapping(model) && model['accepts'] !== undefined && families[String(model['family'])]
      if (isMapping(family)) family[name] ??= {}
    }
  }
}

type Mapping = { [key: string]: unknown }

function isMapping(value: unknown): value is Mapping {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
