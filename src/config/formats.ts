import { mayForward, mayReply, parseEnd, periodChoices, periodText } from '../domain/index.ts'
import {
  durationText,
  moneyText,
  parseAddressRange,
  parseBytes,
  parseDuration,
  isTimeZone,
  parseHostPattern,
  parseProxy,
} from '../util/index.ts'

/** A kind of text for `format` in the schema: its pattern, more conditions, and an example of a valid value. */
export type Format = {
  /** The pattern of a value. Editors, which do not support our formats, get it in the schema. */
  readonly shape: RegExp
  /** A word that is valid too. */
  readonly word?: string
  /** A condition that a pattern cannot express. */
  readonly also?: (text: string) => boolean
  /** Completes "found 'x', which is not …". */
  readonly name: string
  readonly remedy: string
}

const addressText = /^(?:\[([0-9A-Fa-f:.]+)\]|([^\s:[\]]+)):(\d{1,5})$/
/** A query selects a variant of a session: `?intent=transcription`. */
const matchText = /^(GET|POST|PUT|PATCH|DELETE) (\/[^\s?#]*(?:\?[a-z_]+=[\w-]+)?)$/
/** A final `*` follows at least one character, because a pattern never means all headers. */
const headerPatternText = /^[A-Za-z0-9][A-Za-z0-9-]*\*?$/
const spellingText = /^(?:(?:GET|POST|PUT|PATCH|DELETE) )?\/[^\s?#]*(?:\?[a-z_]+=[\w-]+)?$/

const isDuration = (text: string): boolean => (parseDuration(text) ?? 0) > 0
const isAddress = (text: string): boolean => parseAddress(text) !== undefined

export const formats = {
  money: {
    shape: moneyText,
    name: 'an amount of money',
    remedy:
      'write a quoted decimal with at most six decimal places: "0.04". Prices of tokens and characters are per million',
  },
  factor: {
    shape: moneyText,
    name: 'a factor',
    remedy: 'write a quoted decimal with at most six decimal places: "0.9"',
  },
  'proxy-or-none': {
    shape: /^(?:https?|socks5h?):\/\/\S+$/,
    word: 'none',
    also: text => text === 'none' || parseProxy(text) !== undefined,
    name: 'the address of a proxy',
    remedy:
      'write http://, https:// or socks5://, the credentials if it needs any, host and port: http://user:password@proxy.example:3128; or none',
  },
  certificates: {
    shape: /^\s*-----BEGIN CERTIFICATE-----[^]*-----END CERTIFICATE-----\s*$/,
    name: 'certificates in PEM form',
    remedy: 'write "${file:/path/to/ca.pem}", or the text between BEGIN CERTIFICATE and END CERTIFICATE',
  },
  period: {
    shape: periodText,
    name: 'a period of a budget',
    remedy: `write ${periodChoices}`,
  },
  duration: {
    shape: durationText,
    also: isDuration,
    name: 'a duration',
    remedy: 'write a number over 0 and its unit, ms, s, m, h or d: 30s',
  },
  'duration-or-none': {
    shape: durationText,
    name: 'a duration',
    remedy: 'write a number and its unit, ms, s, m, h or d: 5s; 0s for none',
  },
  processes: {
    shape: /^[1-9]\d{0,2}$/,
    word: 'auto',
    name: 'a number of processes',
    remedy: 'write a whole number from 1 to 999, or auto',
  },
  'duration-or-off': {
    shape: durationText,
    word: 'off',
    also: isDuration,
    name: 'a duration',
    remedy: 'write a number over 0 and its unit, ms, s, m, h or d: 15s; or off',
  },
  'time-zone': {
    shape: /^[A-Za-z][\w+-]*(?:\/[\w+-]+)*$/,
    also: isTimeZone,
    name: 'a time zone',
    remedy: 'write an IANA time zone: Europe/Berlin, America/New_York, or UTC',
  },
  date: {
    shape: /^\d{4}-\d{2}-\d{2}$/,
    also: text => parseEnd(text) !== undefined,
    name: 'a day',
    remedy: 'write year, month and day: 2026-12-01',
  },
  bytes: {
    shape: /^\d+(\.\d+)?\s?(B|KiB|MiB|GiB)$/,
    also: text => (parseBytes(text) ?? 0) > 0,
    name: 'a size',
    remedy: 'write a number over 0 and its unit, B, KiB, MiB or GiB: 32MiB',
  },
  address: {
    shape: addressText,
    also: isAddress,
    name: 'an address to listen on',
    remedy: 'write host:port, as in 127.0.0.1:8080 or [::1]:8080',
  },
  network: {
    shape: /^\s*[0-9A-Fa-f:.]+(%[^\s/]+)?(\/\d{1,3})?\s*$/,
    also: text => parseAddressRange(text) !== undefined,
    name: 'an address or a block of addresses',
    remedy: 'write an IP address or a CIDR block: 10.0.0.0/8, 2001:db8::/32',
  },
  'address-or-off': {
    shape: addressText,
    word: 'off',
    also: isAddress,
    name: 'an address to listen on',
    remedy: 'write host:port, as in 127.0.0.1:9464, or off',
  },
  storage: {
    shape: /^(sqlite:.+|postgres(ql)?:\/\/.+)$/s,
    name: 'a storage URL',
    remedy: 'write sqlite:PATH or postgres://HOST/DATABASE',
  },
  counters: {
    shape: /^rediss?:\/\/[^\s?#]+(\?cluster(=spread)?)?$/,
    word: 'memory:',
    also: isRedisUrl,
    name: 'a counter store URL',
    remedy: 'write memory: or redis://HOST:PORT',
  },
  'upstream-url': {
    shape: /^(https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?|simulator:[A-Za-z0-9_-]+)$/,
    also: text => URL.canParse(text),
    name: 'the address of an upstream',
    remedy: 'write https://HOST[/PATH] or simulator:NAME; put a key in `credential`',
  },
  'call-path': {
    shape: /^\/(?:[^\s?#{}]|\{\w+(?::segment)?\})*$/,
    name: 'an upstream path',
    remedy: 'write a path: /v1/{model}/edit; put a query in `query`',
  },
  'otlp-endpoint': {
    shape: /^https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/,
    also: text => URL.canParse(text),
    name: 'the address of a receiver',
    remedy: 'write http(s)://HOST[:PORT][/PATH]; put a key in `headers`',
  },
  receiver: {
    shape: /^(https?|smtps?):\/\/[^\s]+$/,
    also: text => URL.canParse(text) && new URL(text).hostname !== '',
    name: 'the address of a receiver',
    remedy: 'write https://HOST[:PORT]/PATH, or smtps://HOST for e-mail, with user and password before an @',
  },
  'webhook-secret': {
    shape: /^whsec_[A-Za-z0-9+/]{32,86}={0,2}$/,
    name: 'a secret of Standard Webhooks',
    remedy: 'write whsec_ and 24 to 64 random bytes as Base64: echo "whsec_$(openssl rand -base64 32)"',
  },
  mailbox: {
    shape: /^[^\s@<>,;]+@[^\s@<>,;]+$/,
    name: 'an e-mail address',
    remedy: 'write a single address: finance@example.com',
  },
  'header-name': {
    shape: /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/,
    name: 'the name of a header',
    remedy: 'write letters, digits and hyphens: authorization',
  },
  'forward-header': {
    shape: headerPatternText,
    also: text => mayForward(text.replace(/\*$/, '').toLowerCase()),
    name: 'a header that may be forwarded',
    remedy:
      'write a name, or how names begin: session-id, "x-codex-*"; headers of keys, cookies, framing, proxies and accounts stay with the gateway',
  },
  'reply-header': {
    shape: headerPatternText,
    also: text => mayReply(text.replace(/\*$/, '').toLowerCase()),
    name: 'a header that may be passed back',
    remedy:
      'write a name, or how names begin: openai-model, "x-codex-*"; cookies, limits, request ids and names of the account stay with the gateway',
  },
  'header-value': {
    shape: /^[\t\x20-\x7e]*$/,
    name: 'the value of a header',
    remedy: 'write text without line breaks and non-ASCII characters',
  },
  'host-pattern': {
    shape: /^(?:https?:\/\/)?(?:\*\.)?(?:\[[0-9A-Fa-f:.]+\]|[^\s/\\?#@:[\]*%]+)(?::\d{1,5})?$/,
    also: text => parseHostPattern(text) !== undefined,
    name: 'a host, or all subdomains of one',
    remedy: 'write files.vendor.example or "*.vendor.example", with :PORT if it is not the default port',
  },
  origin: {
    shape: /^https?:\/\/[^\s/?#@]+$/,
    word: '*',
    // As browsers write it: no path, no default port, lower case.
    also: text => URL.canParse(text) && new URL(text).origin === text,
    name: 'the origin of a web page',
    remedy: 'write scheme and host as browsers send them: https://app.example, http://localhost:3000; or "*" for any',
  },
  'public-url': {
    shape: /^https?:\/\/[^\s/?#@]+$/,
    also: text => URL.canParse(text) && new URL(text).origin === text,
    name: 'the base URL of the console',
    remedy: 'write only scheme and host, as browsers show them: https://ai.example.com',
  },
  issuer: {
    shape: /^https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/,
    also: text => URL.canParse(text) && !text.includes('/.well-known/'),
    name: 'the identifier of an issuer',
    remedy: 'write the value of `issuer` in its discovery document: https://login.example.com/realms/staff',
  },
  domain: {
    shape: /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/,
    name: 'a domain',
    remedy: 'write the part after the @ in lower case: example.com',
  },
  route: {
    shape: matchText,
    also: text => parseMatch(text) !== undefined,
    name: 'a method and a path',
    remedy: 'write a method, one space and a path: POST /v1/images/edits, or "GET /v1/models/{id}"',
  },
  'route-spelling': {
    shape: spellingText,
    also: text => parseSpelling(text, 'GET') !== undefined,
    name: 'a path',
    remedy: 'write a path: /v1/v1/images/edits, or "/models/{id}"',
  },
} as const satisfies { readonly [name: string]: Format }

/** Whether a text has a format. */
export function isOf({ shape, word, also }: Format, text: string): boolean {
  return text === word || (shape.test(text) && (also === undefined || also(text)))
}

/** The pattern for editors. */
export function patternOf({ shape, word }: Format): string {
  return word === undefined ? shape.source : `${shape.source}|^${word.replaceAll('*', String.raw`\*`)}$`
}

export type FormatName = keyof typeof formats

/** Parses `host:port` or `[ipv6]:port`; undefined for other texts. */
export function parseAddress(text: string): { readonly host: string; readonly port: number } | undefined {
  const match = addressText.exec(text)
  const port = Number(match?.[3])
  const host = match?.[1] ?? match?.[2]
  return host === undefined || port > 65_535 ? undefined : { host, port }
}

const parameter = /\{([a-z][a-z0-9_]*)\}/g

/** Parses `POST /v1/models/{model}:generate`; undefined if the method, the path or a `{name}` is invalid. */
export function parseMatch(text: string): { readonly method: string; readonly path: string } | undefined {
  const match = matchText.exec(text)
  if (!match) return undefined
  const path = match[2] as string
  const names = namesIn(path)
  if (/[{}]/.test(path.replaceAll(parameter, '')) || new Set(names).size < names.length) return undefined
  return { method: match[1] as string, path }
}

/** Parses another spelling of a route: as `parseMatch`, or a path alone, which has the method `method`. */
export function parseSpelling(text: string, method: string): ReturnType<typeof parseMatch> {
  return parseMatch(text.startsWith('/') ? `${method} ${text}` : text)
}

/** The names in the braces of a path, in order. */
export function namesIn(path: string): readonly string[] {
  return [...path.matchAll(parameter)].map(found => found[1] as string)
}

function isRedisUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { hostname, pathname, username, password } = new URL(text)
  if (!isDecodable(username) || !isDecodable(password)) return false
  return hostname !== '' && /^(\/\d*)?$/.test(pathname)
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}
