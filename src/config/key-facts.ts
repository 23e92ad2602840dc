import type { AnyPlugin, AnySigner } from '../plugin-api/index.ts'
import { type FormatName, formats } from './formats.ts'
import { composeSchema, type SchemaData, withUpstream } from './gateway-schema.ts'

/** The facts about one key of `gateway.yaml`. */
export type KeyFacts = {
  /** `models.NAME.prices`: the operator chooses the names in capitals. */
  readonly path: string
  readonly description: string
  /** `text`, `a whole number`, `a list of text`, `a mapping` … */
  readonly type: string
  readonly required: boolean
  /** As YAML; undefined if there is none. */
  readonly default: string | undefined
  /** The only valid values, or the condition for them: `at least 1`. */
  readonly allowed: string | undefined
  readonly example: string | undefined
  /** Names of the keys under this one. */
  readonly keys: readonly string[]
}

/** A key with its schema: steps as in a path, `NAME` for a free name, `[]` for an element. */
type Place = { readonly steps: readonly string[]; readonly schema: SchemaData; readonly required: boolean }

export const anyName = 'NAME'
const element = '[]'

/** Every key of the configuration in the order of the schema, with the sections and options of these plugins. */
export function listKeys(plugins: readonly AnyPlugin[], signers: readonly AnySigner[]): readonly KeyFacts[] {
  const composed = composeSchema(new Map(plugins.map(plugin => [plugin.name, plugin])))
  const root = withUpstream(composed, upstream => withKeysOf(upstream, signers))
  const places = [...placesBelow({ steps: [], schema: root, required: true })]
  return places.filter(place => !isDescribedElsewhere(place)).map(toFacts)
}

/** The section itself describes the keys of all its entries. */
function isDescribedElsewhere({ steps: [top, second, third] }: Place): boolean {
  if (top === 'model_lists') return third !== undefined && third !== 'models'
  return top === 'defaults' && second !== undefined && third !== undefined
}

/** Lists the options of all signing plugins in one place. Each description names the plugin. */
function withKeysOf(upstream: SchemaData, signers: readonly AnySigner[]): SchemaData {
  const keys: { [name: string]: SchemaData } = {}
  for (const { name: signer, options } of signers)
    for (const [name, own] of Object.entries(
      (options['properties'] ?? {}) as { readonly [name: string]: SchemaData },
    )) {
      const before = keys[name]
      const labelled = `${signer}: ${String(own['description'])}`
      // If several plugins have an option of this name, it has no common default.
      const { default: _, ...shared } = { ...own, ...before }
      keys[name] = before
        ? { ...shared, description: `${String(before['description'])} ${labelled}` }
        : { ...own, description: labelled }
    }
  const properties = upstream['properties'] as { readonly credential: SchemaData }
  const { credential } = properties
  const entry = credential['properties'] as { readonly with: SchemaData }
  const own = { ...entry, with: { ...entry.with, properties: keys } }
  const items = { ...(credential['items'] as SchemaData), properties: own }
  return { ...upstream, properties: { ...properties, credential: { ...credential, properties: own, items } } }
}

function* placesBelow(place: Place): Generator<Place> {
  for (const child of childrenOf(place)) {
    if (child.steps.at(-1) !== element) yield child
    yield* placesBelow(child)
  }
}

/** A key without a description has that of its parent, as in the schema for editors. */
function* childrenOf({ steps, schema }: Place): Generator<Place> {
  const about = (own: SchemaData): SchemaData => ({ description: schema['description'], ...own })
  const wanted = (schema['required'] ?? []) as readonly string[]
  const properties = (schema['properties'] ?? {}) as { readonly [name: string]: SchemaData }
  for (const [name, own] of Object.entries(properties))
    yield { steps: [...steps, name], schema: about(own), required: wanted.includes(name) }
  const { additionalProperties: free, items } = schema
  if (isSchema(free)) yield { steps: [...steps, anyName], schema: about(free), required: false }
  // A list of allowed values has no keys of its own.
  if (isSchema(items) && (items['properties'] === undefined || items['properties'] !== schema['properties']))
    yield { steps: [...steps, element], schema: about(items), required: false }
  const alternatives = (schema['anyOf'] ?? schema['oneOf'] ?? []) as readonly SchemaData[]
  for (const own of alternatives) yield* childrenOf({ steps, schema: about(own), required: false })
}

function isSchema(value: unknown): value is SchemaData {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function toFacts({ steps, schema, required }: Place): KeyFacts {
  return {
    path: steps.join('.').replaceAll(`.${element}`, element),
    description: typeof schema['description'] === 'string' ? schema['description'] : '',
    type: typeOf(schema),
    required,
    default: 'default' in schema ? writeFlow(schema['default']) : undefined,
    allowed: allowedOf(schema),
    example: exampleOf(schema),
    keys: [...childrenOf({ steps: [], schema, required })].flatMap(({ steps: [step] }) =>
      step === undefined || step === element ? [] : [step],
    ),
  }
}

const kinds: { readonly [type: string]: string } = {
  object: 'a mapping',
  string: 'text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
}

function typeOf(schema: SchemaData): string {
  const { format, type, items, enum: values, anyOf } = schema
  if (Array.isArray(anyOf)) return [...new Set(anyOf.map(one => typeOf(one as SchemaData)))].join(', or ')
  const name = typeof format === 'string' ? formats[format as FormatName]?.name : undefined
  const types = ([] as unknown[]).concat(type ?? (Array.isArray(values) ? 'string' : []))
  return types
    .map(one => {
      if (one === 'array')
        return isSchema(items) ? `a list of ${typeOf(items).replace(/^an? (\w+)$/, '$1s')}` : 'a list'
      return one === 'string' && name !== undefined ? name : (kinds[String(one)] ?? String(one))
    })
    .join(', or ')
}

function allowedOf(schema: SchemaData): string | undefined {
  const { enum: values, const: only, items, pattern, minimum, maximum, exclusiveMinimum, format } = schema
  if (Array.isArray(values)) return values.map(String).join(', ')
  if (only !== undefined) return writeFlow(only)
  if (isSchema(items) && Array.isArray(items['enum'])) return allowedOf(items)
  const bounds = [
    minimum === undefined ? '' : `at least ${writeFlow(minimum)}`,
    exclusiveMinimum === undefined ? '' : `more than ${writeFlow(exclusiveMinimum)}`,
    maximum === undefined ? '' : `at most ${writeFlow(maximum)}`,
  ].filter(text => text !== '')
  if (bounds.length > 0) return bounds.join(', ')
  if (typeof format === 'string') return formats[format as FormatName]?.remedy.replace(/^write /, '')
  return typeof pattern === 'string' ? `text that matches ${pattern}` : undefined
}

/** Examples of formats. */
const written: { readonly [name in FormatName]?: string } = {
  money: '"0.04"',
  factor: '"0.9"',
  duration: '30s',
  'duration-or-none': '5s',
  'duration-or-off': '15s',
  processes: 'auto',
  bytes: '32MiB',
  network: '10.0.0.0/8',
  address: '127.0.0.1:8080',
  'address-or-off': '127.0.0.1:9464',
  storage: 'sqlite:./data/tollgate.db',
  counters: 'redis://127.0.0.1:6379',
  'upstream-url': 'https://api.example.com',
  'call-path': '/v1/models/{model}:run',
  'otlp-endpoint': 'http://127.0.0.1:4318',
  'header-name': 'authorization',
  'forward-header': 'session-id',
  'reply-header': 'openai-model',
  'header-value': '"Bearer ${ALPHA_API_KEY}"',
  'host-pattern': '"*.vendor.example"',
  origin: 'https://app.example',
  route: 'POST /v1/images/edits',
  'route-spelling': '/images/edits',
}

/** An example from the key's default, format, values or parts. */
function exampleOf(schema: SchemaData): string | undefined {
  const { enum: values, const: only, format, items, type } = schema
  if (only !== undefined) return writeFlow(only)
  if (Array.isArray(values)) return writeFlow(values.at(-1))
  const types = ([] as unknown[]).concat(type)
  if (typeof format === 'string' && types.includes('string'))
    return typeof schema['default'] === 'string' ? writeFlow(schema['default']) : written[format as FormatName]
  if (types.includes('boolean')) return writeFlow(schema['default'] !== true)
  if (types.includes('integer') || types.includes('number'))
    return writeFlow(schema['default'] ?? schema['minimum'] ?? 1)
  if (types.includes('array')) {
    const inner = isSchema(items) ? exampleOf(items) : undefined
    return inner === undefined ? undefined : `[${inner}]`
  }
  if (types.includes('object')) return exampleOfMapping(schema)
  return types.includes('string') ? 'text' : undefined
}

function exampleOfMapping(schema: SchemaData): string | undefined {
  const children = [...childrenOf({ steps: [], schema, required: false })].filter(({ steps }) => steps[0] !== element)
  const needed = children.filter(child => child.required)
  const named = children.filter(({ steps }) => steps[0] === anyName)
  const some = named.length > 0 ? named : children.slice(0, 2)
  const shown = (needed.length > 0 ? needed : some).flatMap(({ steps: [name = ''], schema }) => {
    const value = exampleOf(schema)
    return value === undefined ? [] : [`${name === anyName ? 'name' : name}: ${value}`]
  })
  return shown.length > 0 ? `{ ${shown.join(', ')} }` : undefined
}

/** A plain value as YAML on one line. */
function writeFlow(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(writeFlow).join(', ')}]`
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).map(([key, inner]) => `${key}: ${writeFlow(inner)}`)
    return entries.length > 0 ? `{ ${entries.join(', ')} }` : '{}'
  }
  if (typeof value !== 'string') return String(value)
  const plain = /^[A-Za-z_./][\w./:@-]*$/.test(value) && !/[:]$/.test(value) && !/^(?:true|false|null|~)$/i.test(value)
  return plain || /^\d+(?:\.\d+)?[A-Za-z]+$/.test(value) ? value : JSON.stringify(value)
}
