import { starsIn, type TableRow } from '../../domain/index.ts'
import { familyOf, knownModes } from './families.ts'
import type { Fields } from './fields.ts'
import { type Cloud, cloudOf, rowProviders } from './litellm-clouds.ts'
import { type DraftDefaults, readDefaults } from './litellm-defaults.ts'
import { findPlace, type PlaceDefaults } from './litellm-places.ts'
import { readSetting } from './litellm-setting.ts'
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
  /** The folder of secrets, as the configuration refers to it; if absent, variables are used instead. */
  readonly secretsAt?: string | undefined
  readonly prices?: PriceTable | undefined
  /** Whether locally run servers cost nothing. */
  readonly localFree?: boolean
  /** @deprecated patterns always become the models that the table has for them */
  readonly expand?: boolean
  /** The mode of models that neither the file nor the table defines. */
  readonly mode?: string | undefined
  /** The database of LiteLLM: teams, users and keys. */
  readonly book?: ForeignBook | undefined
}

/** One line of the list, as a deployment of a model. */
export type Deployment = {
  /** The line's index in the list. */
  readonly line: number
  readonly name: string
  readonly target: string
  readonly family: string
  readonly cost: Cost
  readonly way: Way
  /**
   * The same model in the most common format, for names that have both and for fallbacks; absent if its vendor does not
   * serve it.
   */
  readonly chat?: { readonly way: Way; readonly defaults: DraftDefaults } | undefined
  readonly rpm: number | undefined
  readonly ends: string | undefined
  readonly defaults: DraftDefaults
  /** One of the many models of a pattern; a line with its name takes precedence. */
  readonly isOfPattern?: true
  readonly fallbacks: readonly unknown[]
}

/** One line that is not imported. */
export type LeftOut = {
  readonly line: number
  readonly name: string
  readonly target: string
  readonly why: string
  /** One of the many models of a pattern, others of which were imported: a comment is enough. */
  readonly isOfPattern?: true
}

export type Around = {
  readonly options: LitellmOptions
  readonly variables: Fields
  readonly secrets: SecretBook
  readonly defaults: PlaceDefaults
  readonly note: (text: string) => void
}

/** Other names for modes of LiteLLM. It accepts any name: only its own health checks read the mode. */
const otherModes: { readonly [mode: string]: string | undefined } = {
  embeddings: 'embedding',
  image: 'image_generation',
  speech: 'audio_speech',
  stt: 'audio_transcription',
  transcription: 'audio_transcription',
  tts: 'audio_speech',
}

/** The mode of a pattern's models, if it has none. */
const usualMode = 'chat'

/** Parameters that only conversations have. */
const ofTalk = ['max_tokens', 'max_completion_tokens', 'stop', 'reasoning_effort', 'thinking']
const ofTalkFacts = ['max_output_tokens', 'supports_function_calling', 'supports_tool_choice']

/**
 * Translates one line of the list: to one deployment, to several if a pattern is expanded, or to the reason why none is
 * possible.
 */
export function readLine(entry: Tracked, line: number, around: Around): readonly (Deployment | LeftOut)[] {
  const params = entry.in('litellm_params')
  const name = entry.takeText('model_name')
  const target = params.takeText('model')
  const out = (why: string): readonly LeftOut[] => {
    entry.report()
    return [{ line, name: name ?? entry.path, target: target ?? 'none', why }]
  }
  if (name === undefined || target === undefined) return out('it needs model_name and litellm_params.model')
  if (target.startsWith('os.environ/'))
    return out(`its model is set by the variable ${target.slice('os.environ/'.length)}`)
  const { prefix, rest, vendor, cloud } = vendorOf(target, params, around)
  if (cloud && 'why' in cloud) return out(cloud.why)
  if (!vendor) return out(`'${prefix}' is not an upstream with an address and a key`)
  if (name.includes('*') || rest.includes('*')) {
    const wildcard = readWildcard(entry, line, { name, prefix, rest, vendor }, around)
    if (wildcard && wildcard.cost.kind !== 'unknown') return [wildcard]
    const rows = rowsOf(name, rest, prefix, around)
    if (typeof rows === 'string') return wildcard ? [{ ...wildcard, cost: { kind: 'unknown', why: rows } }] : out(rows)
    const found = rows.map(([own, part]) => readOne(entry, line, { name: own, prefix, rest: part, vendor }, around))
    const made = found.filter(one => 'way' in one && one.cost.kind !== 'unknown')
    const left = found.filter(one => !made.includes(one)).map(leftOfPattern)
    if (left.length > 0)
      around.note(
        `${name}: ${left.length} of ${found.length} models of the table are left out, because they have no price or family here`,
      )
    return made.length > 0
      ? [...made.map(one => ({ ...one, isOfPattern: true as const })), ...left]
      : [...out(`none of its ${found.length} models in the table has a price and a family here`), ...left]
  }
  const one = readOne(entry, line, { name, prefix, rest, vendor, cloud }, around)
  if (!('way' in one)) entry.report()
  return [one]
}

/**
 * Translates a pattern to a model with a `*` in its name: it serves all matching names, at the line's own price.
 * Undefined if the line is not a pattern.
 */
function readWildcard(entry: Tracked, line: number, named: Named, around: Around): Deployment | undefined {
  const stars = [named.name, named.rest].map(starsIn)
  if (stars[0] !== 1 || stars.some(count => count > 1)) return undefined
  const options = { ...around.options, mode: around.options.mode ?? usualMode }
  const one = readOne(entry, line, named, { ...around, options })
  return 'way' in one ? one : undefined
}

function leftOfPattern(one: Deployment | LeftOut): LeftOut {
  const { line, name, target } = one
  const why = 'why' in one ? one.why : one.cost.kind === 'unknown' ? one.cost.why : ''
  return { line, name, target, why, isOfPattern: true }
}

type Named = {
  readonly name: string
  readonly prefix: string
  readonly rest: string
  readonly vendor: Vendor
  readonly cloud?: Cloud | undefined
}

function readOne(entry: Tracked, line: number, named: Named, around: Around): Deployment | LeftOut {
  const { name, prefix, rest, vendor: given, cloud } = named
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
        ? 'its mode is unknown: set model_info.mode in the file, or use --mode chat or a table that has it (--prices)'
        : `${options.prices?.name ?? 'the table'}: ${unpriced}`,
    )
  const common = cloud ? undefined : commonAt(given, params)
  const vendor = (mode === 'embedding' ? common : undefined) ?? given
  const usual = familyOf(mode, vendor.style)
  if (usual === undefined) return out(`mode ${mode} is not supported in the API format of ${prefix}`)
  const family = cloud?.family ?? usual
  const found = findPlace({ prefix, vendor, family, params, cloud }, around)
  if ('why' in found) return out(found.why)
  const { isLocal } = found
  const cost = costFor(entry, { family, isLocal, isNamedFree: isNamedFree(named), row, unpriced }, around)
  if (params.takeAs('tpm', value => value) !== undefined)
    note(`${name}: tpm of a deployment is not translated; set token limits by group and key`)
  const rpm = params.takeAs('rpm', wholeFrom)
  const way = {
    place: found.place,
    reference: found.reference,
    base: prefix.replaceAll('_', '-'),
    sendAs: cloud?.sendAs ?? ownName(prefix, rest),
    weight: params.takeAs('weight', weightFrom)?.text,
    priority: params.takeAs('order', wholeFrom) ?? 1,
    rpm,
  }
  const chat =
    family === 'generative' && common
      ? findPlace({ prefix, vendor: common, family: 'chat', params }, around)
      : undefined
  return {
    line,
    name,
    target,
    family,
    cost,
    way,
    ...(chat &&
      'place' in chat && { chat: { way: { ...way, place: chat.place }, defaults: readDefaults(params, 'chat') } }),
    rpm,
    ends: row?.ends,
    defaults: readDefaults(params, family),
    fallbacks: params.takeAs('fallbacks', value => (Array.isArray(value) ? value : undefined)) ?? [],
  }
}

/** Google also serves the most common format, at another path of its own address. */
function commonAt(vendor: Vendor, params: Tracked): Vendor | undefined {
  const isAtHome = !params.has('api_base') && !params.has('base_url')
  if (vendor.style !== 'google' || vendor.url === undefined || !isAtHome) return undefined
  return { ...vendor, style: 'openai', url: `${vendor.url}/v1beta/openai`, isBare: true }
}

/** The parts between maker and model with which LiteLLM selects its translation. */
const seriesOf: { readonly [prefix: string]: RegExp } = {
  azure: /^(?:o_series|gpt5_series|responses)\//,
  openai: /^(?:responses|chat\/completions)\//,
}

/** The vendor's own name of a model. */
function ownName(prefix: string, rest: string): string {
  return rest.replace(seriesOf[prefix] ?? /^$/, '')
}

function vendorOf(target: string, params: Tracked, around: Around) {
  const { options } = around
  const at = target.indexOf('/')
  const own = params.takeText('custom_llm_provider')
  // For a name alone the table has the maker, which LiteLLM has built in.
  const maker = at === -1 ? options.prices?.rows.get(target)?.provider : undefined
  const isVertex = at === -1 && (params.has('vertex_project') || (maker !== undefined && rowProviders.includes(maker)))
  const known = isVertex ? 'vertex_ai' : maker !== undefined && Object.hasOwn(vendors, maker) ? maker : 'openai'
  const prefix = own ?? (at === -1 ? known : target.slice(0, at))
  const isPrefixed = at !== -1 && (own === undefined || target.slice(0, at) === own)
  const rest = isPrefixed ? target.slice(at + 1) : target
  const hasBase = params.has('api_base') || params.has('base_url')
  // A server that is given by its address uses the common style, whatever its prefix.
  const foreign: Vendor | undefined = hasBase && !unspeakable.has(prefix) ? { style: 'openai' } : undefined
  const cloud = rest.includes('*') ? undefined : cloudOf(prefix, rest, params, around)
  const plain = Object.hasOwn(vendors, prefix) ? vendors[prefix] : foreign
  const vendor = cloud && 'vendor' in cloud ? cloud.vendor : plain && styleAt(plain, prefix, params, around)
  return { prefix, rest, vendor, cloud }
}

/** The style of a vendor at certain addresses, where some have other paths. */
function styleAt(vendor: Vendor, prefix: string, params: Tracked, { variables }: Around): Vendor {
  const base = params.peekText('api_base') ?? params.peekText('base_url')
  const setting = base === undefined ? undefined : readSetting(base, variables)
  const text = setting?.kind === 'literal' ? setting.text.replace(/\/$/, '') : ''
  if (vendor.style === 'google' && text.endsWith('/openai')) return { ...vendor, style: 'openai', only: 'chat' }
  if (prefix !== 'azure_ai') return vendor
  const { path: _, ...plain } = vendor
  if (/\/anthropic(?:\/v1)?$/.test(text)) return { ...plain, style: 'anthropic', only: 'chat' }
  return /\.models\.ai\.azure\.com(?:\/v1)?$/.test(text) ? plain : vendor
}

/** Makers whose servers use their own API format, or need more than headers for authentication. */
const unspeakable = new Set([
  'sagemaker',
  'watsonx',
  'replicate',
  'palm',
  'oci',
  'cloudflare',
  'predibase',
  'snowflake',
  'databricks',
  'huggingface',
  'petals',
  'nlp_cloud',
  'sagemaker_chat',
  'triton',
])

/** The table's row of a deployment: only at the vendor's own address, whose prices the table has. */
function findRow(
  { prefix, rest, vendor, cloud }: Named,
  bases: readonly (string | undefined)[],
  params: Tracked,
  { options: { prices }, variables }: Around,
): { readonly row: TableRow | undefined; readonly why: string | undefined } {
  if (!prices) return { row: undefined, why: undefined }
  const base = params.takeText('api_base') ?? params.takeText('base_url')
  const setting = base === undefined ? undefined : readSetting(base, variables)
  const host = setting?.kind === 'literal' && URL.canParse(setting.text) ? new URL(setting.text).hostname : undefined
  const isOwn =
    setting === undefined ||
    vendor.path !== undefined ||
    (vendor.url !== undefined && host === new URL(vendor.url).hostname)
  const isServer = prefix === 'openai' || !Object.hasOwn(vendors, prefix)
  // A server that is given by its address may be a vendor's own.
  const maker = isOwn || !isServer ? prefix : host === undefined ? undefined : makerAt(host)
  const providers = cloud?.providers ?? [maker]
  const own = ownName(prefix, rest)
  const names =
    cloud?.rows ??
    (isOwn || isServer
      ? maker === undefined
        ? []
        : [`${maker}/${rest}`, `${maker}/${own}`, own]
      : [`${prefix}/${rest}`])
  let why: string | undefined
  for (const name of [...bases, ...names]) {
    const row = name === undefined ? undefined : prices.rows.get(name)
    // The same name may be another vendor's model; the file's own `base_model` decides.
    if (row && (bases.includes(name) || (!cloud && name !== own) || providers.some(one => one === row.provider)))
      return { row, why }
    why ??= name === undefined ? undefined : prices.left.get(name)
  }
  return { row: undefined, why }
}

/** The vendor whose own address has this host. */
function makerAt(host: string): string | undefined {
  return Object.entries(vendors).find(([, { url }]) => url !== undefined && new URL(url).hostname === host)?.[0]
}

function modeOf(
  entry: Tracked,
  row: TableRow | undefined,
  { vendor }: Named,
  { mode }: LitellmOptions,
): string | undefined {
  const [params, facts] = [entry.in('litellm_params'), entry.in('model_info')]
  const ownMode = facts.takeText('mode') ?? params.takeText('mode')
  if (ownMode !== undefined) return otherModes[ownMode] ?? ownMode
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
  const ownCost = costOf(given, family)
  const hasPrices = Object.keys(given).length > 0
  if (ownCost.kind !== 'unknown') {
    const left = pricesLeft(given, family)
    const whole = left.length > 0 ? wholeCostOf(given, family) : undefined
    for (const field of whole?.left ?? left)
      note(`${name}: ${field} is not translated and not charged: it has no equivalent price here`)
    return whole?.cost ?? ownCost
  }
  if (about.isNamedFree) return { kind: 'free' }
  if (isLocal && !hasPrices) {
    if (options.localFree === true) return { kind: 'free' }
    return { kind: 'unknown', why: 'it runs on your own machine: set its prices, or use --local-free' }
  }
  if (!row || !options.prices || hasPrices) {
    const table = options.prices?.name
    const unknown = unpriced === undefined ? ' does not contain it either' : `: ${unpriced}`
    const missing = table === undefined ? 'use a price table with --prices' : `the table ${table}${unknown}`
    return { kind: 'unknown', why: ownCost.kind === 'unknown' ? `${ownCost.why}; ${missing}` : missing }
  }
  const where = `the row ${row.id} of ${options.prices.name}`
  const listed = costOfRow(row, family)
  if (listed.kind === 'unknown') return { kind: 'unknown', why: `${where}: ${listed.why}` }
  if (row.unmapped) note(`${name}: ${where} has other prices that are not charged: ${row.unmapped.join(', ')}`)
  return listed
}

/** Prices of the line itself; they are among the parameters or the model info. */
function priceFields(entry: Tracked): Fields {
  const fields: { [name: string]: unknown } = {}
  for (const part of [entry.in('model_info'), entry.in('litellm_params')])
    for (const key of part.keys()) if (isPrice.test(key) && part.has(key)) fields[key] = part.take(key)
  return fields
}

/** The models that match a pattern, with the names of clients and of the vendor; or why there are none. */
function rowsOf(
  name: string,
  rest: string,
  prefix: string,
  { options }: Around,
): readonly (readonly [string, string])[] | string {
  const { prices } = options
  if (!prices) return 'it is a pattern, and its names have no price: set a table with --prices, whose models replace it'
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
