import { isSecretName } from '../domain/index.ts'
import { findAddressSecrets } from './address-secrets.ts'
import { formatPath, type Path, type ScalarTree, scalarsOf, type Span, type Tree } from './tree.ts'

/** The secrets of a configuration, and their places. */
export type Secrets = {
  /** The places of scalars with secret text in the file, in its order, none within another. */
  readonly spans: readonly Span[]
  /** Complete values that contain a secret, with references filled in, except values that may appear elsewhere. */
  readonly values: ReadonlySet<string>
  /** The paths of secret values as text in lower case, because header names are compared that way. */
  readonly places: ReadonlySet<string>
  /** Redacts secrets in a text for people. */
  mask(text: string): string
  /**
   * The same for text around secrets that are redacted already: redacts a known secret only if it is long and a
   * separate word, so that names and prices stay readable.
   */
  maskAmongText(text: string): string
  /** Like `mask`, but replaces each character by one, so that columns stay the same. */
  maskInPlace(text: string): string
}

const secretName =
  /(?:api|access|private|secret)[-_]?key$|token$|secret|passw(?:or)?d|passphrase|credential|authorization/i
/**
 * Texts that look like a secret in any place, also in a file that cannot be parsed. A lookahead before each lookbehind
 * limits the examination of the preceding text to the end of blanks, which is faster.
 */
const looksSecretAnywhere = [
  /(?=[^\s"'{}$])(?<=\bBearer\s+)[^\s"'}]+/gi,
  /(?<![\w-])sk-[\w-]{6,}/g,
  // Beginnings of keys: a short word, or the prefix of a cloud or web token, before digits and letters in both cases.
  /(?<![\w-])(?:[a-z]{1,8}\d?[-_]|AIza|AKIA|eyJ)(?=\w{0,64}\d)(?=\w{0,64}[A-Z])[\w+/.=-]{12,}/g,
]
const looksSecret = [
  ...looksSecretAnywhere,
  /(?=[^\s,}])(?<=(?:api|access|private|secret)[-_]?key\b["']?\s*[:=]\s*)(?!["']?\$\{)[^\s,}]+/gi,
  /(?=[^\s,}"'])(?<=(?:(?<!_per_)token|secret|passw(?:or)?d|value)["']?\s*:\s*["']?)(?!["']?\$\{|Bearer\b|\*)[^,}"'\n]+/gi,
]
const userOfAddress = /:\/\/[^\s/@:]*:/g
const blank = /\s/g
const wordCharacter = /\w/
const blankOrQuote = /[\s"']/g
const shortest = 4
/** Minimum length of a value that is redacted everywhere: shorter ones are ordinary words and numbers. */
const wholeShortest = 8
/** The same for values that are searched between names and prices. */
const amongTextShortest = 12
const plainWord = /^(?:[\d.,:\s-]{1,11}|true|false|null)$/
const cover = '***'

/** Whether a scalar is secret by its place: a credential's value, fixed headers, addresses with a password. */
export function isSecretPlace(path: Path): boolean {
  // Defaults for all entries are as secret as the entries themselves.
  if (path[0] === 'defaults') return isSecretPlace([path[1] ?? '', '', ...path.slice(2)])
  const [top, , part] = path
  // The switch for passwords is not secret, and neither is the name of an issuer.
  if (top === 'sign_in') return path.at(-1) === 'client_secret'
  if (top === 'upstreams' && (part === 'headers' || part === 'query')) return true
  if (top === 'observability' && part === 'headers') return true
  if (top === 'upstreams' && part === 'keys' && path.length === 5 && path[4] === 'value') return true
  if (top === 'events' && path[3] === 'url') return true
  if (part === 'calls' && isSecretName(String(path.at(-1)))) return true
  if (top === 'upstreams' && part === 'credential') return isSecretOfCredential(path.slice(3))
  if (top === 'models' || top === 'groups') return false
  return path.some((step, i) => typeof step === 'string' && isSecretStep(step) && !isChosenName(path, i))
}

/** Settings about secrets that are not secret: a number of bytes, and whether something is sent with them. */
const openNames: ReadonlySet<string> = new Set(['bytes_per_token', 'with_credential'])

function isSecretStep(step: string): boolean {
  return secretName.test(step) && !openNames.has(step)
}

/** The name of an upstream, a family, a receiver or a key is independent of its values. */
function isChosenName([top, , part]: Path, i: number): boolean {
  if (top === 'upstreams' && part === 'keys' && i === 3) return true
  return top === 'events' ? i === 2 : i === 1 && (top === 'upstreams' || top === 'families')
}

/** The public settings of signing plugins: addresses and purposes. All others are secret. */
const publicOption =
  /^(?:region|service|scopes?|audience|resource|action|version|issuer|subject|algorithm|key_id|client_id|\w*url|\w*header|ttl|lifetime)$/
const credentialNames = ['header', 'query', 'sign']

/** `path` leads from the credential to a scalar, with an index in a list. */
function isSecretOfCredential(path: Path): boolean {
  const [name, ...inside] = typeof path[0] === 'number' ? path.slice(1) : path
  if (name === 'with') return !publicOption.test(String(inside[0]))
  return !credentialNames.includes(String(name))
}

/** `${NAME}`, `${NAME:-`, `${file:…}` and `{key}` name a secret's place and may be shown; a default may not. */
const nameOnly = /\$\{(?:file:[^}]*|\w+(?::[-?])?)\}?|\{key\}/g

/**
 * The secrets of a tree whose references have been filled in.
 * `hidden` are parts of the text without a known meaning. `text` is the file's; `loose` are the values that replaced
 * references in secret scalars.
 */
export function gatherSecrets(
  root: Tree | undefined,
  text: string,
  unfilled: readonly string[],
  hidden: readonly Span[] = [],
): Secrets {
  const spans: Span[] = [...hidden]
  const secretValues = new Set<string>()
  const places = new Set<string>()
  if (root) {
    for (const [scalar, path] of scalarsOf(root)) {
      if (!scalar.secret) {
        const hold = holdOf(scalar, text)
        if (hold) spans.push(scalar.span)
        if (hold !== 'value') continue
        places.add(formatPath(path).toLowerCase())
        secretValues.add(String(scalar.value))
        continue
      }
      spans.push(...hiddenParts(scalar.span, text))
      if (scalar.value !== null) places.add(formatPath(path).toLowerCase())
      if (!scalar.unknown && scalar.value !== null) secretValues.add(String(scalar.value))
    }
  }
  const known = [...new Set([...secretValues, ...unfilled])]
    .filter(text => text.length >= shortest && !plainWord.test(text))
    .sort((a, b) => b.length - a.length)
  const findKnown = finderOf(known)
  const findLong = finderOf(known.filter(text => text.length >= amongTextShortest))
  const mask = (text: string, write: (secret: string) => string): string => {
    let masked = text
    for (const secret of findKnown(text)) masked = masked.replaceAll(secret, write)
    for (const look of looksSecret) masked = masked.replace(look, write)
    return maskAddresses(masked, write)
  }
  return {
    spans: joinSpans(spans),
    values: new Set([...secretValues].filter(text => text.length >= wholeShortest && !plainWord.test(text))),
    places,
    mask: text => mask(text, () => cover),
    maskAmongText: text => maskAmongText(text, findLong(text)),
    maskInPlace: text => mask(text, secret => '*'.repeat(secret.length)),
  }
}

/** In the order of the text, those that overlap as one: `defaults` copies scalars. */
function joinSpans(spans: readonly Span[]): readonly Span[] {
  const joint: Span[] = []
  for (const { start, end } of spans.toSorted((a, b) => a.start - b.start)) {
    const last = joint.at(-1)
    if (last && start < last.end) joint[joint.length - 1] = { start: last.start, end: Math.max(last.end, end) }
    else joint.push({ start, end })
  }
  return joint
}

/**
 * Finds the secrets in a text, in the order of `known`. A configuration has thousands of values and may have thousands of
 * secrets, so a text is read once, and not once for each secret.
 */
function finderOf(known: readonly string[]): (text: string) => readonly string[] {
  const byStart = Map.groupBy(known, secret => secret.slice(0, shortest))
  return text => {
    const found = new Set<string>()
    for (let i = 0; byStart.size > 0 && i + shortest <= text.length; i++)
      for (const secret of byStart.get(text.slice(i, i + shortest)) ?? [])
        if (text.startsWith(secret, i)) found.add(secret)
    return found.size > 1 ? known.filter(secret => found.has(secret)) : [...found]
  }
}

const isAddress = /^\s*[a-z][a-z0-9+.-]*:\/\//i
const whites = /\s+/g
const spreadOut = /[\n\\]/

/**
 * For an address with a secret that a search of the text would not find: `value` if blanks hide it even in the value,
 * `text` if line breaks or escapes hide it in the text.
 */
function holdOf({ value, span }: ScalarTree, text: string): 'text' | 'value' | undefined {
  if (typeof value !== 'string' || !isAddress.test(value)) return undefined
  if (!hasSecret(value.replaceAll(whites, ''))) return undefined
  if (!hasSecret(value) || secretsIn(value.replaceAll(whites, '')).join() !== secretsIn(value).join()) return 'value'
  return spreadOut.test(text.slice(span.start, span.end)) ? 'text' : undefined
}

function maskAmongText(text: string, known: readonly string[]): string {
  let masked = text
  for (const secret of known)
    masked = masked.replaceAll(secret, (found, at: number, whole: string) =>
      wordCharacter.test(whole[at - 1] ?? ' ') || wordCharacter.test(whole[at + found.length] ?? ' ') ? found : cover,
    )
  for (const look of looksSecretAnywhere) masked = masked.replace(look, cover)
  return maskAddresses(masked, secret => (isBareReference(secret) ? secret : cover))
}

/** Only references, with or without quotes, so that nothing is secret. */
const bareReference = /^(["']?)(?:\$\{(?:file:[^}]*|\w+)\})+\1$/

/** True for a reference that only names a secret: no default, and no other text. */
export function isBareReference(text: string): boolean {
  return bareReference.test(text)
}

function hiddenParts({ start, end }: Span, text: string): Span[] {
  if (bareReference.test(text.slice(start, end))) return []
  const parts: Span[] = []
  let from = start
  for (const name of text.slice(start, end).matchAll(nameOnly)) {
    parts.push({ start: from, end: start + name.index })
    from = start + name.index + name[0].length
  }
  return [...parts, { start: from, end }]
}

/** An address without its secrets. A password may contain an `@`: it ends at the last one. */
export function withoutSecrets(url: string): string {
  const [password] = findPasswords(url, blank)
  const open = password === undefined ? url : coverSpans(url, [password], () => cover)
  return coverSpans(open, findAddressSecrets(open), () => cover)
}

/** Redacts secrets in all addresses of a text, with each reference as one piece, and in those of its defaults. */
export function maskAddresses(text: string, write: (secret: string) => string): string {
  const open = coverSpans(text, findPasswords(levelled(text), blankOrQuote), write)
  const masked = coverSpans(open, addressSecretsOf(open), write)
  return masked.replaceAll(defaultInside, inside => (inside.includes('://') ? maskAddresses(inside, write) : inside))
}

/** `$$` is a dollar sign, and does not begin a reference. */
const references = /\$\$|\$\{(?:file:[^{}\n]+|\w+(?::[-?][^{}\n]*)?)\}/g
const defaultInside = /(?<=\$\{\w+:-)[^{}\n]+(?=\})/g

/** The same text with the same length, in which no part of a reference ends an address or a password. */
function levelled(text: string): string {
  return text.replaceAll(references, one => (one === '$$' ? one : '.'.repeat(one.length)))
}

function addressSecretsOf(text: string): readonly Span[] {
  return findAddressSecrets(levelled(text)).filter(({ start, end }) => !isBareReference(text.slice(start, end)))
}

/** `spans` in the order of the text. One that begins within an earlier one is left out. */
export function coverSpans(text: string, spans: Iterable<Span>, write: (secret: string) => string): string {
  const parts: string[] = []
  let done = 0
  for (const { start, end } of spans) {
    if (start < done) continue
    parts.push(text.slice(done, start), write(text.slice(start, end)))
    done = end
  }
  return done === 0 ? text : parts.join('') + text.slice(done)
}

/** The secrets in an address. */
export function secretsIn(url: string): readonly string[] {
  return [...findPasswords(url, blank), ...findAddressSecrets(url)].map(({ start, end }) => url.slice(start, end))
}

/** Whether an address contains a password, or a secret parameter in its query. */
export function hasSecret(text: string): boolean {
  return secretsIn(text).length > 0
}

/**
 * The spans of passwords in addresses: the text between a user's colon and the last `@` before the end of the address.
 */
function* findPasswords(text: string, ends: RegExp): Iterable<Span> {
  let seen = 0
  for (let at = 0; ; ) {
    userOfAddress.lastIndex = at
    if (!userOfAddress.test(text)) return
    const start = userOfAddress.lastIndex
    // A colon may end one user and begin the scheme of the next address.
    at = start - 1
    if (start < seen) continue
    ends.lastIndex = start
    seen = ends.exec(text)?.index ?? text.length
    const length = text.slice(start, seen).lastIndexOf('@')
    if (length > 0) yield { start, end: start + length }
  }
}
