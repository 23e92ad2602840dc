import { bareCalls } from './families.ts'
import { type Fields, fieldsOf } from './fields.ts'
import { type Cloud, googleCalls, microsoftCredential } from './litellm-clouds.ts'
import { readSetting, type Setting } from './litellm-setting.ts'
import type { Vendor } from './litellm-vendors.ts'
import type { SecretBook } from './secret-book.ts'
import { credentialOf } from './styles.ts'
import type { Tracked } from './tracked.ts'
import type { Place } from './upstream-book.ts'
import { writeForeign, writeMap } from './yaml-words.ts'

const headerName = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/
const secretHeader = /auth|key|token|secret|cookie|passw|credential/i
const address = /^https?:\/\/[^\s@?#/]+(?:\/[^\s?#]*)?$/

/** Settings of the whole file that each upstream has here. */
export type PlaceDefaults = {
  readonly timeout: string | undefined
  readonly cooldownTime: string | undefined
  readonly allowedFails: string | undefined
}

export type FoundPlace = {
  readonly place: Place
  readonly reference: string | undefined
  /** Whether it is a local machine, by its address. */
  readonly isLocal: boolean
  /** Whether these are the vendor's own servers, whose prices tables have. */
  readonly isOwn: boolean
}

/** The address and the credential of a vendor's deployment; or why there is none. */
export function findPlace(
  given: {
    readonly prefix: string
    readonly vendor: Vendor
    readonly family: string
    readonly params: Tracked
    readonly cloud?: Cloud | undefined
  },
  around: {
    readonly variables: Fields
    readonly secrets: SecretBook
    readonly defaults: PlaceDefaults
    readonly note: (text: string) => void
  },
): FoundPlace | { readonly why: string } {
  const { prefix, vendor, family, params, cloud } = given
  const { variables, secrets, defaults, note } = around
  const base = cloud ? undefined : (params.takeText('api_base') ?? params.takeText('base_url'))
  const found = cloud
    ? { url: cloud.url, isBare: false, isLocal: false, isOwn: true, calls: cloud.calls }
    : base === undefined
      ? ownPlace(vendor)
      : placeAt(readSetting(base, variables), vendor, note)
  if (!found) return { why: 'it has no usable api_base' }
  const signed = cloud ? cloud.credential : vendor.path === undefined ? undefined : microsoftCredential(params, around)
  if (typeof signed === 'object') return signed
  const key = signed === undefined ? referenceOf(params.take('api_key'), { prefix, vendor, variables, secrets }) : noKey
  if ('why' in key) return key
  const calls = found.isBare ? bareCalls(family) : found.calls
  const headers = headersOf(params, variables, secrets, note)
  return {
    place: {
      url: found.url,
      credential: credentialOf(vendor.style, vendor.path !== undefined),
      rest: [
        ['credential', signed],
        ['headers', headers],
        ['calls', calls],
        ['outcomes', vendor.outcomes],
        ['timeouts', timeoutsOf(params, defaults)],
        ['concurrency', params.takeAs('max_parallel_requests', wholeFrom)],
        ['cooldown', cooldownOf(params, defaults)],
      ],
    },
    reference: key.reference,
    isLocal: found.isLocal,
    isOwn: found.isOwn,
  }
}

/** For upstreams whose credential is in a signing plugin. */
const noKey = { reference: undefined }

type Address = {
  readonly url: string
  readonly isBare: boolean
  readonly isLocal: boolean
  readonly isOwn: boolean
  /** Paths that differ from those of the style. */
  readonly calls?: string | undefined
}

function ownPlace({ url, isBare, isLocal }: Vendor): Address | undefined {
  if (url === undefined) return undefined
  return { url: JSON.stringify(url), isBare: isBare === true, isLocal: isLocal === true, isOwn: true }
}

function placeAt(setting: Setting, vendor: Vendor, note: (text: string) => void): Address | undefined {
  const { path = '' } = vendor
  if (setting.kind === 'variable') {
    const { name } = setting
    const version = vendor.style === 'google' ? 'v1beta' : 'v1'
    note(`/${version}/… is appended to ${name}: set it without /${version} at the end`)
    const unset = `https://${name.toLowerCase().replaceAll('_', '-')}-is-not-set.invalid`
    const url = JSON.stringify(`\${${name}:-${unset}}${path}`)
    // Every customer of a cloud has its own address.
    return { url, isBare: false, isLocal: vendor.isLocal === true, isOwn: path !== '' }
  }
  if (setting.kind !== 'literal') return undefined
  const whole = withoutDeployment(setting.text.trim(), vendor).replace(/(?<!\/)\/+$/, '')
  if (vendor.style === 'google') return googleAt(whole, vendor)
  const bare = whole.replace(/\/v1$/, '')
  if (!address.test(bare) || !URL.canParse(bare)) return undefined
  const { hostname, pathname } = new URL(bare)
  // An address with another path has /chat/completions without /v1; for a host alone both are usual.
  const isBare = vendor.style === 'openai' && path === '' && bare === whole && pathname !== '/'
  const own = vendor.url === undefined ? undefined : new URL(vendor.url).hostname
  return {
    url: writeQuoted(isBare || bare.endsWith(path) ? bare : `${bare}${path}`),
    isBare: isBare && whole !== vendor.url,
    isLocal: isLocalHost(hostname),
    isOwn: hostname === own || path !== '',
  }
}

/** Removes the path of one deployment from a cloud's address; the body has the name of the deployment here. */
function withoutDeployment(text: string, { path }: Vendor): string {
  return path === undefined ? text : text.replace(/\/openai\/deployments\/.*|\/models$|\?.*/s, '')
}

/** Google's paths begin with the API version, which is the end of an address in other gateways. */
function googleAt(whole: string, { url }: Vendor): Address | undefined {
  const [end = '', version = 'v1beta'] = /\/(v\d(?:alpha|beta\d?)?)(?:\/models)?$/.exec(whole) ?? []
  const bare = whole.slice(0, whole.length - end.length)
  if (!address.test(bare) || !URL.canParse(bare)) return undefined
  const { hostname } = new URL(bare)
  return {
    url: writeQuoted(bare),
    isBare: false,
    isLocal: isLocalHost(hostname),
    isOwn: url !== undefined && hostname === new URL(url).hostname,
    ...(version !== 'v1beta' && { calls: googleCalls(`/${version}/models/{model}`) }),
  }
}

/** Whether a host is local: an address that no other network reaches, or a name without a domain. */
export function isLocalHost(host: string): boolean {
  if (/^(?:127|10)\.|^192\.168\.|^172\.(?:1[6-9]|2\d|3[01])\.|^169\.254\.|^\[(?:::1|f[cd])|^0\.0\.0\.0$/.test(host))
    return true
  return !host.includes('.') || /\.(?:local|internal|lan|localhost|svc)$|\.svc\./.test(host)
}

function writeQuoted(text: string): string {
  return JSON.stringify(text.replaceAll('$', '$$$$'))
}

function referenceOf(
  given: unknown,
  around: {
    readonly prefix: string
    readonly vendor: Vendor
    readonly variables: Fields
    readonly secrets: SecretBook
  },
): { readonly reference: string | undefined } | { readonly why: string } {
  const { prefix, vendor, variables, secrets } = around
  const setting =
    given === undefined || given === ''
      ? vendor.key === undefined
        ? undefined
        : readSetting(`os.environ/${vendor.key}`, variables)
      : readSetting(typeof given === 'number' ? String(given) : given, variables)
  if (setting === undefined) return { reference: undefined }
  if (setting.kind === 'unreadable') return { why: 'its api_key is not text, or names an invalid variable' }
  if (setting.kind === 'variable') return { reference: `\${${setting.name}:-}` }
  return secrets.keep(setting.text, prefix)
}

function headersOf(
  params: Tracked,
  variables: Fields,
  secrets: SecretBook,
  note: (text: string) => void,
): string | undefined {
  const more = params.takeText('organization')
  const given = {
    ...(more !== undefined && { 'openai-organization': more }),
    ...fieldsOf(params.take('extra_headers')),
  }
  const written = Object.entries(given).flatMap(([name, value]) => {
    const setting = readSetting(value, variables)
    const reference =
      setting.kind === 'variable'
        ? { reference: `\${${setting.name}:-}` }
        : setting.kind === 'literal' && secretHeader.test(name)
          ? secrets.keep(setting.text, name)
          : undefined
    const isPlain = setting.kind === 'literal' && /^[\t\x20-\x7e]*$/.test(setting.text)
    const text = reference && 'reference' in reference ? JSON.stringify(reference.reference) : undefined
    const own = text ?? (reference === undefined && isPlain ? writeForeign(setting.text) : undefined)
    if (own === undefined || !headerName.test(name)) {
      note(`${params.path}: the header ${name} of extra_headers is not valid and is left out`)
      return []
    }
    return [[name, own] as const]
  })
  return written.length === 0 ? undefined : writeMap(written)
}

/** LiteLLM's timeout limits a whole call; most of that time is the wait for the head of the answer. */
function timeoutsOf(params: Tracked, { timeout }: PlaceDefaults): string | undefined {
  const own = params.takeAs('timeout', secondsOf) ?? params.takeAs('stream_timeout', secondsOf)
  const seconds = own ?? timeout
  return seconds === undefined ? undefined : writeMap([['first_byte', seconds]])
}

function cooldownOf(params: Tracked, { cooldownTime, allowedFails }: PlaceDefaults): string | undefined {
  const time = params.takeAs('cooldown_time', secondsOf) ?? cooldownTime
  const fails = params.takeAs('allowed_fails', failuresOf) ?? allowedFails
  return time === undefined && fails === undefined
    ? undefined
    : writeMap([
        ['failures', fails],
        ['for', time],
      ])
}

/** LiteLLM pauses a deployment that has failed more often than allowed. */
function failuresOf(value: unknown): string | undefined {
  const allowed = wholeOf(value, 0)
  return allowed === undefined ? undefined : String(Number(allowed) + 1)
}

/** Reads settings of the whole file that each upstream has here. */
export function readPlaceDefaults(router: Tracked, settings: Tracked): PlaceDefaults {
  return {
    timeout: settings.takeAs('request_timeout', secondsOf) ?? router.takeAs('timeout', secondsOf),
    cooldownTime: router.takeAs('cooldown_time', secondsOf),
    allowedFails: router.takeAs('allowed_fails', failuresOf) ?? settings.takeAs('allowed_fails', failuresOf),
  }
}

function secondsOf(value: unknown): string | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof number === 'number' && number >= 0.001 && number <= 1e6 ? `${+number.toFixed(3)}s` : undefined
}

const wholeFrom = (value: unknown): string | undefined => wholeOf(value)

function wholeOf(value: unknown, least = 1): string | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof number === 'number' && Number.isSafeInteger(number) && number >= least ? String(number) : undefined
}
