import type { AnyPlugin, AnySigner } from '../plugin-api/index.ts'
import type { Schema } from '../util/index.ts'
import { type FormatName, formats, patternOf } from './formats.ts'
import { admitOldNames } from './old-names.ts'
import { parts } from './schema.ts'

/** A schema as plain data, for code that builds and walks schemas. */
export type SchemaData = { readonly [keyword: string]: unknown }

const nothing = { type: 'object', additionalProperties: false, properties: {} } as const satisfies Schema

/** The schema of the options of a plugin's step. */
export function optionsSchema({ options }: AnyPlugin): Schema {
  return options ?? nothing
}

/** The plugins of a pipeline, by their names in it. */
export type PluginsByStep = ReadonlyMap<string, AnyPlugin>

/**
 * The strict schema of a file with filled references: the core's schema with the options and sections of these plugins.
 * Steps and sections in `unopened` may contain anything.
 */
export function composeSchema(plugins: PluginsByStep, unopened: readonly string[] = []): SchemaData {
  return compose(pipelineStep(plugins, unopened), familySchema(plugins, unopened))
}

/** The schema of everything outside plugins: options of steps and sections of families may contain anything. */
export const coreSchema = compose(pipelineStep(new Map(), [], true), { ...parts.family, additionalProperties: true })

/** The schemas of a plugin, and the places in `composeSchema` where they are used. */
export const schemaPaths = {
  step: '#/properties/pipeline/items',
  family: '#/properties/families/additionalProperties',
} as const

function compose(step: SchemaData, family: Schema): SchemaData {
  return {
    type: 'object',
    additionalProperties: false,
    required: ['version', 'upstreams', 'pipeline', 'families', 'models', 'routes'],
    properties: {
      version: { type: 'integer', const: 1, description: 'Version of the file format: 1.' },
      currency: {
        type: 'string',
        pattern: '^[A-Z]{3}$',
        default: 'USD',
        description: 'Currency of every price: three capital letters, such as USD.',
      },
      organization: {
        type: 'string',
        minLength: 1,
        maxLength: 200,
        description: 'Name of the organization, for statements.',
      },
      include: parts.composition.include,
      server: parts.server,
      storage: {
        type: 'string',
        format: 'storage',
        default: 'sqlite:./data/tollgate.db',
        description: 'Storage for keys, charges and the log: sqlite:PATH or postgres://…',
      },
      counters: {
        type: 'string',
        format: 'counters',
        default: 'memory:',
        description:
          'Store for rate limit counters: memory: for one process; redis://[USER:PASSWORD@]HOST[:PORT][/DB] or rediss://… for several. Append ?cluster if HOST is a node of a cluster, or ?cluster=spread to use all of its nodes.',
      },
      retention: parts.retention,
      events: parts.events,
      sign_in: parts.signIn,
      observability: parts.observability,
      budgets: parts.budgets,
      groups: namedEntries(parts.group, 'Groups of users, by name. Keys without a group belong to `default`.', {
        default: { default: {} },
      }),
      upstreams: namedEntries(parts.upstream, 'The servers that run the models, by name.'),
      pipeline: {
        type: 'array',
        minItems: 1,
        description: 'Plugins in the order they run: a name, or { name: options }.',
        items: step,
      },
      families: namedEntries(family, 'Families of models with the same behavior, by name.'),
      price_tables: parts.composition.price_tables,
      defaults: parts.composition.defaults,
      route_sets: parts.composition.route_sets,
      model_lists: parts.composition.model_lists,
      models: namedEntries(parts.model, 'The models that clients can request, by name.'),
      routes: { type: 'array', minItems: 1, description: 'The endpoints.', items: parts.route },
    },
  }
}

function namedEntries(entry: Schema, description: string, more: SchemaData = {}): SchemaData {
  return { type: 'object', description, propertyNames: { minLength: 1 }, additionalProperties: entry, ...more }
}

function pipelineStep(plugins: PluginsByStep, unopened: readonly string[], isOpen = false): SchemaData {
  const properties = Object.fromEntries([
    ...unopened.map(name => [name, {}] as const),
    ...[...plugins].map(
      ([step, plugin]) => [step, { description: `Options of ${step}.`, ...optionsSchema(plugin) }] as const,
    ),
  ])
  return {
    type: ['string', 'object'],
    minLength: 1,
    minProperties: 1,
    maxProperties: 1,
    additionalProperties: isOpen,
    properties,
  }
}

function familySchema(plugins: PluginsByStep, unopened: readonly string[]): Schema {
  const facets = Object.fromEntries([
    ...unopened.map(name => [name, {}] as const),
    ...[...plugins.values()].flatMap(({ name, facet }) =>
      facet ? [[name, { description: `Settings of ${name} for this family.`, ...facet }] as const] : [],
    ),
  ])
  return { ...parts.family, properties: { ...parts.family.properties, ...facets } }
}

/**
 * The schema of `gateway.yaml` (JSON Schema draft-07) for editors. It describes every key, and allows `${…}` for every
 * value, because an editor reads the file before references are filled in.
 */
export function gatewaySchema(plugins: readonly AnyPlugin[], signers: readonly AnySigner[] = []): SchemaData {
  const composed = composeSchema(new Map(plugins.map(plugin => [plugin.name, plugin])))
  const schema = withUpstream(composed, upstream => withSigners(upstream, signers))
  const editor = forEditors(admitOldNames(schema)) as SchemaData
  const names = plugins.map(plugin => plugin.name)
  const properties = editor['properties'] as { readonly [name: string]: SchemaData }
  const pipeline = properties['pipeline'] as SchemaData
  const items = { ...(pipeline['items'] as SchemaData), examples: names }
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'gateway.yaml',
    description: 'Configuration of a Tollgate gateway.',
    ...editor,
    ...requiredOfWhole(editor),
    properties: { ...properties, pipeline: { ...pipeline, items } },
  }
}

/** Sections may be in included files, and models in lists. */
function requiredOfWhole({ required }: SchemaData): SchemaData {
  const apart = ['include', 'model_lists'].map(key => ({ required: [key] }))
  return { required: ['version'], if: { not: { anyOf: apart } }, ['then' as const]: { required } }
}

/** The schema with changed upstreams. */
export function withUpstream(schema: SchemaData, change: (upstream: SchemaData) => SchemaData): SchemaData {
  const properties = schema['properties'] as { readonly upstreams: SchemaData }
  const { upstreams } = properties
  const own = change(upstreams['additionalProperties'] as SchemaData)
  return { ...schema, properties: { ...properties, upstreams: { ...upstreams, additionalProperties: own } } }
}

/** Derives the keys under `with` from the value of `sign`. */
function withSigners(upstream: SchemaData, signers: readonly AnySigner[]): SchemaData {
  if (signers.length === 0) return upstream
  const properties = upstream['properties'] as { readonly credential: SchemaData }
  const credential = properties.credential as { readonly properties: SchemaData; readonly items: SchemaData }
  const choices = signers.map(({ name, options }) => ({
    if: { properties: { sign: { const: name } }, required: ['sign'] },
    ['then' as const]: { properties: { with: { description: `Settings of ${name}.`, ...options } } },
  }))
  const sign = { ...(credential.properties['sign'] as SchemaData), examples: signers.map(({ name }) => name) }
  const own = { properties: { ...credential.properties, sign }, allOf: choices }
  const items = { ...credential.items, ...own }
  return { ...upstream, properties: { ...properties, credential: { ...credential, ...own, items } } }
}

const reference = String.raw`\$\{`
/** Keywords whose value is a schema, a list of schemas, or schemas by name. */
const schemaKeywords = [
  'additionalProperties',
  'additionalItems',
  'propertyNames',
  'items',
  'not',
  'if',
  'then',
  'else',
  'contains',
]
const listKeywords = ['allOf', 'anyOf', 'oneOf', 'items']
const mapKeywords = ['properties', 'patternProperties', 'definitions']

/** `about` is the description of the nearest parent with one. A key without a description gets it. */
function forEditors(schema: unknown, about?: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return schema
  const changed = admitReference(schema as SchemaData)
  const description = changed['description'] ?? about
  for (const [keyword, value] of Object.entries(changed)) {
    if (listKeywords.includes(keyword) && Array.isArray(value))
      changed[keyword] = value.map(inner => forEditors(inner, description))
    else if (schemaKeywords.includes(keyword)) changed[keyword] = forEditors(value, description)
    else if (mapKeywords.includes(keyword)) {
      const inner = Object.entries(value as { readonly [name: string]: object }).map(([name, schema]) => {
        return [name, forEditors(keyword === 'properties' ? { description, ...schema } : schema, description)] as const
      })
      changed[keyword] = Object.fromEntries(inner)
    }
  }
  return changed
}

function admitReference(schema: SchemaData): { [keyword: string]: unknown } {
  const { format, ...changed } = schema as { [keyword: string]: unknown; format?: string; pattern?: string }
  const own = format !== undefined && format in formats ? formats[format as FormatName] : undefined
  if (format !== undefined && !own) changed['format'] = format
  const pattern = (own && patternOf(own)) ?? changed.pattern
  if (pattern !== undefined) changed.pattern = `${pattern}|${reference}`
  else if (changed['type'] === 'integer' || changed['type'] === 'number' || changed['type'] === 'boolean') {
    if (changed['const'] === undefined && changed['enum'] === undefined) {
      changed['type'] = [changed['type'], 'string']
      changed.pattern = reference
    }
  }
  return changed
}
