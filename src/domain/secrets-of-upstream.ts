import type { ProxyAddress } from '../util/proxy/proxy-address.ts'
import type { Call, Upstream } from './model.ts'

/** Names of headers, parameters and members that contain secrets. */
const secretName = /auth|key|token|secret|cookie|passw|signature|credential|^(?:sig|code|pw|pwd|jwt|sas)$/i

/** The id of a bot and its token, as in `bot123456:AAE…`. */
const tokenOfBot = /^(?:bot)?\d{5,}:[\w-]{16,}$/
const lettersRun = /[A-Za-z0-9]{16,}/g

export function isSecretName(name: string): boolean {
  return secretName.test(name)
}

/** Whether a text looks random: it has a run of letters and digits that is longer than a word. */
export function isRandom(text: string): boolean {
  if (tokenOfBot.test(text)) return true
  return [...text.matchAll(lettersRun)].some(([run]) => /\d/.test(run) && /[A-Za-z]/.test(run))
}

/**
 * All secret texts in an upstream's settings: credentials, fixed values with a name that indicates a secret, and
 * random-looking parts of its address.
 */
export function secretsOfUpstream({
  url,
  credential,
  headers,
  query,
  calls,
  keys = [],
  proxy,
}: Upstream): readonly string[] {
  return [
    // The first three parts are the scheme, an empty part, and the host.
    ...url.split('/').slice(3).filter(isRandom),
    ...(typeof proxy === 'object' ? secretsOfProxy(proxy) : []),
    ...credential.flatMap(one => (one.kind === 'sign' ? one.secrets.flatMap(partsOf) : one.value)),
    ...secretValues(headers, query),
    ...secretsOfCalls(calls),
    ...keys.flatMap(key => secretsOfUpstream(key.upstream)),
  ]
}

/** A user name without a password is a token. */
function secretsOfProxy({ user = '', password = '' }: ProxyAddress): readonly string[] {
  const secret = password === '' ? user : password
  return secret === '' ? [] : [secret, encodeURIComponent(secret)]
}

/** The same for the calls of an upstream or of a family. */
export function secretsOfCalls(calls: ReadonlyMap<string, Call> | undefined): readonly string[] {
  return [...(calls?.values() ?? [])].flatMap(({ headers, query, stream }) =>
    secretValues(headers, query, stream.query ?? {}),
  )
}

function secretValues(...fixed: readonly { readonly [name: string]: string }[]): readonly string[] {
  return fixed.flatMap(Object.entries<string>).flatMap(([name, value]) => (isSecretName(name) ? value : []))
}

/** Parts of a key: in a JSON key file the texts whose names indicate secrets, in a PEM key its lines. */
function partsOf(text: string): readonly string[] {
  if (!text.trimStart().startsWith('{')) return linesOf(text)
  try {
    return Object.entries(JSON.parse(text) as object).flatMap(([name, value]) =>
      typeof value === 'string' && isSecretName(name) && !URL.canParse(value) ? linesOf(value) : [],
    )
  } catch {
    return [text]
  }
}

function linesOf(text: string): readonly string[] {
  if (!text.includes('-----BEGIN')) return [text]
  return text.split('\n').flatMap(line => (line.startsWith('-----') ? [] : line.trim()))
}
