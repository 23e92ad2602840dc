import { parseBytes, parseDuration, parseMoney, formatMoney } from '../util/index.ts'
import type { Settings } from './build.ts'
import type { FormatName } from './formats.ts'
import type { SchemaData } from './gateway-schema.ts'
import type { ModelSettings } from './schema.ts'
import { type Secrets, withoutSecrets } from './secrets.ts'
import { formatPath, type Path } from './tree.ts'

const cover = '***'
/** A list without elements. */
export const emptyList = '[]'

/** Secret values and their places. */
type SecretPlaces = Pick<Secrets, 'values' | 'places'>
type Named = { readonly [name: string]: unknown }

/**
 * All settings, including defaults, by their paths in the file, with secrets redacted: `server.body_max → 32MiB`.
 * Values with several spellings have one: sizes, durations, money. The keys of routes and steps are their match and
 * their plugin, so that an added one does not move the others. In the order of the schema.
 */
export function flattenSettings(
  settings: Settings,
  schema: SchemaData,
  secrets: SecretPlaces,
): { readonly [path: string]: string } {
  const facts: { [path: string]: string } = {}
  const record = (path: Path, text: string): void => {
    facts[formatPath(path)] = isSecret(path, text, secrets) ? cover : withoutSecrets(text)
  }
  const walk = (value: unknown, path: Path, schema: SchemaData): void => {
    if (value === undefined) return
    if (typeof value === 'string') record(path, secrets.values.has(value) ? value : canonical(value, schema['format']))
    else if (typeof value !== 'object' || value === null) record(path, JSON.stringify(value))
    else if (!Array.isArray(value))
      for (const [name, at, inner] of entriesOf(value as Named, schema)) walk(inner, [...path, name], at)
    else if (value.every(element => typeof element === 'string')) facts[formatPath(path)] = listed(value, path, secrets)
    else for (const [i, element] of value.entries()) walk(element, [...path, i], elementSchema(schema, i))
  }
  const { version: _, pipeline, models, routes, ...rest } = settings as Settings & { version: unknown }
  const of = (name: string): SchemaData => propertySchema(schema, name)
  for (const [name, at, value] of entriesOf(rest, schema)) walk(value, [name], at)
  const steps = pipeline.map(step => (typeof step === 'string' ? ([step, undefined] as const) : firstEntry(step)))
  record(['pipeline'], steps.map(([plugin]) => plugin).join(', '))
  for (const [plugin, options] of steps)
    walk(options, ['pipeline', plugin], propertySchema(elementSchema(of('pipeline'), 0), plugin))
  for (const [name, own] of Object.entries(models)) {
    record(['models', name, 'upstreams'], describeUpstreams(own))
    walk(
      { ...own, upstream: undefined, upstreams: undefined, send_as: undefined },
      ['models', name],
      propertySchema(of('models'), name),
    )
  }
  for (const { match, ...route } of routes) {
    const spellings = [match].flat()
    const path = ['routes', spellings[0] ?? '']
    record([...path, 'match'], spellings.join(', '))
    walk(route, path, elementSchema(of('routes'), 0))
  }
  return facts
}

function firstEntry(step: Named): readonly [string, unknown] {
  return Object.entries(step)[0] ?? ['', undefined]
}

/** `alpha`, or with its settings: `alpha weight 3 priority 2 as a-2`. */
function describeUpstreams(own: ModelSettings): string {
  const all: NonNullable<ModelSettings['upstreams']> = own.upstreams ?? [
    { upstream: own.upstream ?? '', weight: 1, priority: 1 },
  ]
  return all
    .map(({ upstream, weight, priority, send_as = own.send_as }) => {
      const more = [
        weight === 1 ? '' : ` weight ${weight}`,
        priority === 1 ? '' : ` priority ${priority}`,
        send_as === undefined ? '' : ` as ${send_as}`,
      ]
      return upstream + more.join('')
    })
    .join(', ')
}

/** The members of a mapping with their schemas, in the order of the schema; names of entries follow at the end. */
function entriesOf(value: Named, schema: SchemaData): readonly (readonly [string, SchemaData, unknown])[] {
  const properties = (schema['properties'] ?? {}) as Named
  const names = (schema['propertyNames'] ?? {}) as SchemaData
  const known = Object.keys(properties).filter(name => Object.hasOwn(value, name))
  const others = Object.keys(value).filter(name => !Object.hasOwn(properties, name))
  return [...known, ...others].map(name => {
    return [canonical(name, names['format']), propertySchema(schema, name), value[name]] as const
  })
}

function propertySchema(schema: SchemaData, name: string): SchemaData {
  const properties = (schema['properties'] ?? {}) as { readonly [name: string]: SchemaData }
  const own = Object.hasOwn(properties, name) ? properties[name] : schema['additionalProperties']
  return typeof own === 'object' && own !== null ? (own as SchemaData) : {}
}

function elementSchema({ items, additionalItems }: SchemaData, i: number): SchemaData {
  const own: unknown = Array.isArray(items) ? (items[i] ?? additionalItems) : items
  return typeof own === 'object' && own !== null ? (own as SchemaData) : {}
}

/** Names whose order does not matter. */
function isUnordered([top, , part]: Path): boolean {
  return top === 'families' && (part === 'streams' || part === 'forward')
}

function isSecret(path: Path, text: string, { values, places }: SecretPlaces): boolean {
  return places.has(formatPath(path).toLowerCase()) || values.has(text)
}

function listed(texts: readonly string[], path: Path, secrets: SecretPlaces): string {
  if (texts.length === 0) return emptyList
  const shown = texts.map((text, i) => (isSecret([...path, i], text, secrets) ? cover : withoutSecrets(text)))
  return (isUnordered(path) ? shown.toSorted() : shown).join(', ')
}

/** The one spelling for values with several. */
const writers: { readonly [format in FormatName]?: (text: string) => string } = {
  money: text => formatMoney(parseMoney(text) ?? Number.NaN),
  duration: writeDuration,
  'duration-or-none': writeDuration,
  'duration-or-off': text => (text === 'off' ? text : writeDuration(text)),
  bytes: text => withUnit(parseBytes(text) ?? Number.NaN, sizes),
  'header-name': text => text.toLowerCase(),
  'forward-header': text => text.toLowerCase(),
  'reply-header': text => text.toLowerCase(),
}

function canonical(text: string, format: unknown): string {
  return typeof format === 'string' && Object.hasOwn(writers, format)
    ? (writers[format as FormatName] as (text: string) => string)(text)
    : text
}

const sizes = { GiB: 1024 ** 3, MiB: 1024 ** 2, KiB: 1024, B: 1 } as const
const times = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000, ms: 1 } as const

function writeDuration(text: string): string {
  const ms = parseDuration(text)
  return ms === 0 ? '0s' : withUnit(ms ?? Number.NaN, times)
}

/** Uses the largest unit that gives an integer. */
function withUnit(value: number, units: { readonly [unit: string]: number }): string {
  const [unit = '', worth = 1] = Object.entries(units).find(([, worth]) => value % worth === 0) ?? []
  return `${value / worth}${unit}`
}
