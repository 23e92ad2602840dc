import type { TableRow } from '../../domain/index.ts'
import { familyOf, knownModes, styleNote } from './families.ts'
import type { Fields } from './fields.ts'
import { type DraftDefaults, readDefaults } from './litellm-defaults.ts'
import { findPlace, type PlaceDefaults, readSaid } from './litellm-places.ts'
import { isPrice } from '../prices/index.ts'
import { costOf, pricesLeft, wholeCostOf } from './litellm-prices.ts'
import { type Vendor, vendors } from './litellm-vendors.ts'
import { costOfRow, type PriceTable } from './price-table.ts'
import type { SecretBook } from './secret-book.ts'
import type { Tracked } from './tracked.ts'
import type { Way } from './key-pool.ts'
import type { ForeignBook } from './new-api/foreign-book.ts'
import { type Cost, whyNoName } from './write-config.ts'

/** Options of the import in addition to the file. */
export type LitellmOptions = {
  /** The folder of secrets, as the configuration is to name it; absent: variables are named instead. */
  readonly secretsAt?: string | undefined
  readonly prices?: PriceTable | undefined
  /** Servers of one's own cost nothing. */
  readonly localFree?: boolean
  /** Patterns become the models that the table has for them. */
  readonly expand?: boolean
  /** What a model is for of which neither file nor table says it. */
  readonly mode?: string | undefined
  /** Its database: teams, users and keys. */
  readonly book?: ForeignBook | undefined
}

/** One line of the list that has become a way to a model. */
export type Deployment = {
  /** Which line of the list. */
  readonly line: number
  readonly name: string
  readonly target: string
  readonly family: string
  readonly cost: Cost
  readonly way: Way
  readonly rpm: number | undefined
  readonly ends: string | undefined
  readonly defaults: DraftDefaults
  readonly fallbacks: readonly unknown[]
}

/** One line that has become none. */
export type LeftOut = {
  readonly line: number
  readonly name: string
  readonly target: string
  readonly why: string
  /** One of the many models of a pattern, others of which are there: a comment is enough. */
  readonly isOfPattern?: true
}

export type Around = {
  readonly options: LitellmOptions
  readonly variables: Fields
  readonly secrets: SecretBook
  readonly defaults: PlaceDefaults
  readonly note: (text: string) => void
}

/** Parameters that nothing but a conversation has. */
const ofTalk = ['max_tokens', 'max_completion_tokens', 'stop', 'reasoning_effort', 'thinking']
const ofTalkFacts = ['max_output_tokens', 'supports_function_calling', 'supports_tool_choice']

/** What one line of the list becomes: one way to a model, several where a pattern is expanded, or why none. */
export function readLine(entry: Tracked, line: number, around: Around): readonly (Deployment | LeftOut)[] {
  const params = entry.in('litellm_params')
  const name = entry.takeText('model_name')
  const target = params.takeText('model')
  const out = (why: string): readonly LeftOut[] => {
    entry.told()
    return [{ line, name: name ?? entry.path, target: target ?? 'none', why }]
  }
  if (name === undefined || target === undefined) return out('it needs model_name and litellm_params.model')
  if (target.startsWith('os.environ/'))
    return out(`its model is set by the variable ${target.slice('os.environ/'.length)}`)
  const { prefix, rest, vendor } = vendorOf(target, params, around)
  if (!vendor) return out(`'${prefix}' is not an upstream with an address and a key`)
  if (name.includes('*') || rest.includes('*')) {
    const rows = rowsOf(name, rest, prefix, around)
    if (typeof rows === 'string') return out(rows)
    const found = rows.map(([own, part]) => readOne(entry, line, { name: own, prefix, rest: part, vendor }, around))
    const made = found.filter(one => 'way' in one && one.cost.kind !== 'unknown')
    const left = found.filter(one => !made.includes(one)).map(leftOfPattern)
    if (left.length > 0)
      around.note(
        `${name}: ${left.length} of ${found.length} models of the table are left out, because they have no price or family here`,
      )
    return made.length > 0
      ? [...made, ...left]
      : [...out(`none of its ${found.length} models in the table has a price and a family here`), ...left]
  }
  const one = readOne(entry, line, { name, prefix, rest, vendor }, around)
  if (!('way' in one)) entry.told()
  return [one]
}

function leftOfPattern(one: Deployment | LeftOut): LeftOut {
  const { line, name, target } = one
  const why = 'why' in one ? one.why : one.cost.kind === 'unknown' ? one.cost.why : ''
  return { line, name, target, why, isOfPattern: true }
}

type Named = { readonly name: string; readonly prefix: string; readonly rest: string; readonly vendor: Vendor }

function readOne(entry: Tracked, line: number, named: Named, around: Around): Deployment | LeftOut {
  const { name, prefix, rest, vendor } = named
  const { options, note } = around
  const [params, facts] = [entry.in('litellm_params'), entry.in('model_info')]
  const target = `${prefix}/${rest}`
  const out = (why: string): LeftOut => ({ line, name, target, why })
  const noName = whyNoName(name)
  if (noName !== undefined) return out(noName)
  const bases = [facts.takeText('base_model'), params.takeText('base_model')]
  const { row, why: unpriced } = findRow(named, bases, params, around)
  const mode = modeOf(entry, row, named, options)
  if (mode === undefined)
    return out(
      unpriced === undefined
        ? 'its mode is unknown: set model_info.mode, a table with --prices, or --mode'
        : `${options.prices?.name ?? 'the table'}: ${unpriced}`,
    )
  const family = familyOf(mode, vendor.style)
  if (family === undefined) return out(`mode ${mode} is not supported in the API format of ${prefix}`)
  const found = findPlace({ prefix, vendor, family, params }, around)
  if ('why' in found) return out(found.why)
  const { isLocal } = found
  const cost = costFor(entry, { family, isLocal, isNamedFree: isNamedFree(named), row, unpriced }, around)
  if (params.takeAs('tpm', value => value) !== undefined)
    note(`${name}: tpm of a deployment is not translated; set token limits by group and key`)
  const style = styleNote(family)
  if (cost.kind !== 'unknown' && style !== undefined) note(`${name}: ${style}`)
  const rpm = params.takeAs('rpm', wholeFrom)
  return {
    line,
    name,
    target,
    family,
    cost,
    way: {
      place: found.place,
      reference: found.reference,
      base: prefix.replaceAll('_', '-'),
      sendAs: rest,
      weight: params.takeAs('weight', weightFrom)?.text,
      priority: params.takeAs('order', wholeFrom) ?? 1,
      rpm,
    },
    rpm,
    ends: row?.ends,
    defaults: readDefaults(params, family),
    fallbacks: params.takeAs('fallbacks', value => (Array.isArray(value) ? value : undefined)) ?? [],
  }
}

function vendorOf(target: string, params: Tracked, { options }: Around) {
  const at = target.indexOf('/')
  const own = params.takeText('custom_llm_provider')
  // Of a name alone the table knows the maker; LiteLLM has it built in.
  const maker = at === -1 ? options.prices?.rows.get(target)?.provider : undefined
  const known = maker !== undefined && Object.hasOwn(vendors, maker) ? maker : 'openai'
  const prefix = own ?? (at === -1 ? known : target.slice(0, at))
  const isPrefixed = at !== -1 && (own === undefined || target.slice(0, at) === own)
  const rest = isPrefixed ? target.slice(at + 1) : target
  const hasBase = params.has('api_base') || params.has('base_url')
  // A server that is named with its address speaks the common style, whatever it calls itself.
  const foreign: Vendor | undefined = hasBase && !unspeakable.has(prefix) ? { style: 'openai' } : undefined
  const vendor = Object.hasOwn(vendors, prefix) ? vendors[prefix] : foreign
  return { prefix, rest, vendor }
}

/** Makers whose servers speak a style of their own, or want what no header carries. */
const unspeakable = new Set([
  'bedrock',
  'sagemaker',
  'vertex_ai',
  'vertex_ai_beta',
  'watsonx',
  'replicate',
  'palm',
  'oci',
  'cloudflare',
  'predibase',
  'snowflake',
  'databricks',
  'azure_ai',
  'huggingface',
  'petals',
  'nlp_cloud',
  'sagemaker_chat',
  'triton',
])

/** The table's entry of a deployment: only at its own vendor, whose prices the table has. */
function findRow(
  { prefix, rest, vendor }: Named,
  bases: readonly (string | undefined)[],
  params: Tracked,
  { options: { prices }, variables }: Around,
): { readonly row: TableRow | undefined; readonly why: string | undefined } {
  if (!prices) return { row: undefined, why: undefined }
  const base = params.takeText('api_base') ?? params.takeText('base_url')
  const said = base === undefined ? undefined : readSaid(base, variables)
  const host = said?.kind === 'literal' && URL.canParse(said.text) ? new URL(said.text).hostname : undefined
  const isOwn =
    said === undefined ||
    vendor.path !== undefined ||
    (vendor.url !== undefined && host === new URL(vendor.url).hostname)
  const names = isOwn
    ? [`${prefix}/${rest}`, rest]
    : prefix === 'openai' || !Object.hasOwn(vendors, prefix)
      ? []
      : [`${prefix}/${rest}`]
  let why: string | undefined
  for (const name of [...bases, ...names]) {
    const row = name === undefined ? undefined : prices.rows.get(name)
    // A name alone may be another vendor's model; the file's own `base_model` decides.
    if (row && (bases.includes(name) || name !== rest || row.provider === prefix)) return { row, why }
    why ??= name === undefined ? undefined : prices.left.get(name)
  }
  return { row: undefined, why }
}

function modeOf(
  entry: Tracked,
  row: TableRow | undefined,
  { vendor }: Named,
  { mode }: LitellmOptions,
): string | undefined {
  const [params, facts] = [entry.in('litellm_params'), entry.in('model_info')]
  const said = facts.takeText('mode') ?? params.takeText('mode')
  if (said !== undefined) return said
  if (row?.mode !== undefined) return row.mode
  const talks = ofTalk.some(key => params.has(key)) || ofTalkFacts.some(key => facts.has(key))
  return talks ? 'chat' : (vendor.only ?? mode)
}

function isNamedFree({ prefix, rest }: Named): boolean {
  return prefix === 'openrouter' && rest.endsWith(':free')
}

function costFor(
  entry: Tracked,
  about: {
    readonly family: string
    readonly isLocal: boolean
    readonly isNamedFree: boolean
    readonly row: TableRow | undefined
    readonly unpriced: string | undefined
  },
  { options, note }: Around,
): Cost {
  const { family, isLocal, row, unpriced } = about
  const name = entry.takeText('model_name') ?? ''
  const given = priceFields(entry)
  const said = costOf(given, family)
  const isSaid = Object.keys(given).length > 0
  if (said.kind !== 'unknown') {
    const left = pricesLeft(given, family)
    const whole = left.length > 0 ? wholeCostOf(given, family) : undefined
    for (const field of whole?.left ?? left)
      note(`${name}: ${field} is not translated and not charged: it has no equivalent price here`)
    return whole?.cost ?? said
  }
  if (about.isNamedFree) return { kind: 'free' }
  if (isLocal && !isSaid) {
    if (options.localFree === true) return { kind: 'free' }
    return { kind: 'unknown', why: 'it runs on your own machine: set its prices, or use --local-free' }
  }
  if (!row || !options.prices || isSaid) {
    const table = options.prices?.name
    const unknown = unpriced === undefined ? 'does not contain it either' : `says of it: ${unpriced}`
    const missing = table === undefined ? 'set a table with --prices' : `the table ${table} ${unknown}`
    return { kind: 'unknown', why: said.kind === 'unknown' ? `${said.why}; ${missing}` : missing }
  }
  const where = `the row ${row.id} of ${options.prices.name}`
  const listed = costOfRow(row, family)
  if (listed.kind === 'unknown') return { kind: 'unknown', why: `${where}: ${listed.why}` }
  if (row.unmapped) note(`${name}: ${where} has other prices that are not charged: ${row.unmapped.join(', ')}`)
  return listed
}

/** Prices of the line itself; they are among the parameters or the facts. */
function priceFields(entry: Tracked): Fields {
  const fields: { [name: string]: unknown } = {}
  for (const part of [entry.in('model_info'), entry.in('litellm_params')])
    for (const key of part.keys()) if (isPrice.test(key) && part.has(key)) fields[key] = part.take(key)
  return fields
}

/** The models that a pattern matches, as callers name them and as their vendor does; or why there are none. */
function rowsOf(
  name: string,
  rest: string,
  prefix: string,
  { options }: Around,
): readonly (readonly [string, string])[] | string {
  const { prices, expand } = options
  if (expand !== true) return 'a pattern is not a model: list each model, or use --expand with a table (--prices)'
  if (!prices) return '--expand needs a table: set one with --prices'
  if (rest.split('*').length > 2 || name.split('*').length > 2) return 'a pattern with more than one * is not supported'
  const [before = '', after = ''] = rest.split('*')
  const found = new Map<string, string>()
  for (const own of prices.rows.ids) {
    const row = prices.rows.get(own)
    if (row?.provider !== prefix) continue
    const bare = own.startsWith(`${prefix}/`) ? own.slice(prefix.length + 1) : own
    const isModel = !bare.includes('*') && knownModes.includes(row.mode ?? '')
    if (!isModel || !rest.includes('*') || !bare.startsWith(before) || !bare.endsWith(after)) continue
    if (bare.length < before.length + after.length) continue
    const part = bare.slice(before.length, bare.length - after.length)
    found.set(name.includes('*') ? name.replace('*', () => part) : bare, bare)
  }
  return found.size > 0 ? [...found] : `the table has no model that matches ${prefix}/${rest}`
}

const wholeFrom = (value: unknown): number | undefined => {
  const number = Number(value)
  return Number.isSafeInteger(number) && number > 0 ? number : undefined
}

const weightFrom = (value: unknown): { readonly text: string | undefined } | undefined => {
  const weight = Number(value)
  if (!(weight > 0 && weight < 1e9)) return undefined
  return { text: weight === 1 ? undefined : String(weight) }
}
