import { parseAddressRange, parseBytes, parseDuration, parseMoney } from '../kit/index.ts'

/** A kind of text that the schema names by `format`: how an editor checks it, how we check it, what would be right. */
export type Format = {
  /** A regular expression for editors, which know nothing of our formats. */
  readonly pattern: string
  readonly holds: (text: string) => boolean
  /** Follows "found 'x', which is not …". */
  readonly name: string
  readonly remedy: string
}

const decimal = String.raw`^\d{1,9}(\.\d{1,6})?$`

export const formats = {
  money: {
    pattern: decimal,
    holds: text => parseMoney(text) !== undefined,
    name: 'an amount of money',
    remedy: 'write a quoted decimal with at most six places: "0.04"; prices of tokens and characters are per million',
  },
  factor: {
    pattern: decimal,
    holds: text => parseMoney(text) !== undefined,
    name: 'a factor',
    remedy: 'write a quoted decimal with at most six places: "0.9"',
  },
  duration: {
    pattern: String.raw`^\d+(\.\d+)?(ms|s|m|h|d)$`,
    holds: text => (parseDuration(text) ?? 0) > 0,
    name: 'a duration',
    remedy: 'write a number over 0 and its unit, ms, s, m, h or d: 30s',
  },
  'duration-or-none': {
    pattern: String.raw`^\d+(\.\d+)?(ms|s|m|h|d)$`,
    holds: text => parseDuration(text) !== undefined,
    name: 'a duration',
    remedy: 'write a number and its unit, ms, s, m, h or d: 5s; 0s for none',
  },
  processes: {
    pattern: String.raw`^([1-9]\d{0,2}|auto)$`,
    holds: text => /^([1-9]\d{0,2}|auto)$/.test(text),
    name: 'a number of processes',
    remedy: 'write a whole number from 1 to 999, or auto',
  },
  'duration-or-off': {
    pattern: String.raw`^(\d+(\.\d+)?(ms|s|m|h|d)|off)$`,
    holds: text => text === 'off' || (parseDuration(text) ?? 0) > 0,
    name: 'a duration',
    remedy: 'write a number over 0 and its unit, ms, s, m, h or d: 15s; or off',
  },
  bytes: {
    pattern: String.raw`^\d+(\.\d+)?\s?(B|KiB|MiB|GiB)$`,
    holds: text => (parseBytes(text) ?? 0) > 0 && !/^\d+$/.test(text),
    name: 'a size',
    remedy: 'write a number over 0 and its unit, B, KiB, MiB or GiB: 32MiB',
  },
  address: {
    pattern: String.raw`^(\[[0-9A-Fa-f:.]+\]|[^\s:\[\]]+):\d{1,5}$`,
    holds: text => parseAddress(text) !== undefined,
    name: 'an address to listen on',
    remedy: 'write host:port, as in 127.0.0.1:8080 or [::1]:8080',
  },
  network: {
    pattern: String.raw`^[0-9A-Fa-f:.]+(/\d{1,3})?$`,
    holds: text => parseAddressRange(text) !== undefined,
    name: 'an address or a block of addresses',
    remedy: 'write an IP address or a CIDR block: 10.0.0.0/8, 2001:db8::/32',
  },
  'address-or-off': {
    pattern: String.raw`^((\[[0-9A-Fa-f:.]+\]|[^\s:\[\]]+):\d{1,5}|off)$`,
    holds: text => text === 'off' || parseAddress(text) !== undefined,
    name: 'an address to listen on',
    remedy: 'write host:port, as in 127.0.0.1:9464, or off',
  },
  storage: {
    pattern: '^(sqlite:.+|postgres(ql)?://.+)$',
    holds: text => /^(sqlite:.+|postgres(ql)?:\/\/.+)$/s.test(text),
    name: 'a place to keep records',
    remedy: 'write sqlite:PATH or postgres://HOST/DATABASE',
  },
  counters: {
    pattern: String.raw`^(memory:|rediss?://[^\s?#]+(\?cluster)?)$`,
    holds: text => text === 'memory:' || isRedisUrl(text),
    name: 'a place to count in',
    remedy: 'write memory: or redis://HOST:PORT',
  },
  'upstream-url': {
    pattern: String.raw`^(https?://[^\s@?#]+|simulator:[A-Za-z0-9_-]+)$`,
    holds: isUpstreamUrl,
    name: 'the address of an upstream',
    remedy: 'write https://HOST[/PATH] or simulator:NAME; a key belongs into `credential`',
  },
  'otlp-endpoint': {
    pattern: '^https?://[^\\s@?#]+$',
    holds: text => /^https?:/.test(text) && isUpstreamUrl(text),
    name: 'the address of a receiver',
    remedy: 'write http(s)://HOST[:PORT][/PATH]; a key belongs into `headers`',
  },
  'header-name': {
    pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$",
    holds: text => /^[\w!#$%&'*+.^`|~-]+$/.test(text),
    name: 'the name of a header',
    remedy: 'write letters, digits and hyphens: authorization',
  },
  'header-value': {
    pattern: String.raw`^[\t\x20-\x7e]*$`,
    holds: text => /^[\t\x20-\x7e]*$/.test(text),
    name: 'the value of a header',
    remedy: 'leave out line breaks and characters beyond ASCII',
  },
  origin: {
    pattern: String.raw`^(\*|https?://[^\s/?#@]+)$`,
    holds: isOrigin,
    name: 'the origin of a web page',
    remedy: 'write scheme and host as browsers send them: https://app.example, http://localhost:3000; or "*" for any',
  },
  route: {
    pattern: String.raw`^(GET|POST|PUT|PATCH|DELETE) /\S*$`,
    holds: text => parseMatch(text) !== undefined,
    name: 'a method and a path',
    remedy: 'write a method, one blank and a path: POST /v1/images/edits, or "GET /v1/models/{id}"',
  },
  'route-spelling': {
    pattern: String.raw`^((GET|POST|PUT|PATCH|DELETE) )?/\S*$`,
    holds: text => parseSpelling(text, 'GET') !== undefined,
    name: 'a path',
    remedy: 'write a path: /v1/v1/images/edits, or "/models/{id}"',
  },
} as const satisfies { readonly [name: string]: Format }

export type FormatName = keyof typeof formats

/** Reads `host:port` or `[ipv6]:port`; undefined when it is neither. */
export function parseAddress(text: string): { readonly host: string; readonly port: number } | undefined {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([^\s:[\]]+)):(\d{1,5})$/.exec(text)
  const port = Number(match?.[3])
  const host = match?.[1] ?? match?.[2]
  return host === undefined || port > 65_535 ? undefined : { host, port }
}

const parameter = /\{([a-z][a-z0-9_]*)\}/g

/** Reads `POST /v1/models/{model}:generate`; undefined when the method, the path or a `{name}` in it is not usable. */
export function parseMatch(text: string): { readonly method: string; readonly path: string } | undefined {
  const match = /^(GET|POST|PUT|PATCH|DELETE) (\/[^\s?#]*)$/.exec(text)
  if (!match) return undefined
  const path = match[2] as string
  const names = namesIn(path)
  if (/[{}]/.test(path.replaceAll(parameter, '')) || new Set(names).size < names.length) return undefined
  return { method: match[1] as string, path }
}

/** Reads a further spelling of a route: as `parseMatch`, or a path alone, whose method is then `method`. */
export function parseSpelling(text: string, method: string): ReturnType<typeof parseMatch> {
  return parseMatch(text.startsWith('/') ? `${method} ${text}` : text)
}

/** The names in the braces of a path, in its order. */
export function namesIn(path: string): readonly string[] {
  return [...path.matchAll(parameter)].map(found => found[1] as string)
}

function isUpstreamUrl(text: string): boolean {
  if (/^simulator:[\w-]+$/.test(text)) return true
  if (!/^https?:\/\//.test(text) || !URL.canParse(text)) return false
  const url = new URL(text)
  return url.username === '' && url.password === '' && url.search === '' && url.hash === ''
}

function isRedisUrl(text: string): boolean {
  if (!/^rediss?:\/\//.test(text) || !URL.canParse(text)) return false
  const { hostname, pathname, search, hash, username, password } = new URL(text)
  if (!isDecodable(username) || !isDecodable(password)) return false
  return hostname !== '' && /^(\/\d*)?$/.test(pathname) && (search === '' || search === '?cluster') && hash === ''
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

/** As a browser writes it: no path, no default port, lower case. */
function isOrigin(text: string): boolean {
  return text === '*' || (/^https?:\/\//.test(text) && URL.canParse(text) && new URL(text).origin === text)
}
