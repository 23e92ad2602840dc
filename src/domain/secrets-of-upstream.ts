import type { ProxyAddress } from '../util/proxy/proxy-address.ts'
import type { Call, Upstream } from './model.ts'

/** Names of headers, parameters and members under which secrets go. */
const secretName = /auth|key|token|secret|cookie|passw|signature|credential|^(?:sig|code|pw|pwd|jwt|sas)$/i

/** A name of a bot and its token, as in `bot123456:AAE…`. */
const tokenOfBot = /^(?:bot)?\d{5,}:[\w-]{16,}$/
const lettersRun = /[A-Za-z0-9]{16,}/g

export function isSecretName(name: string): boolean {
  return secretName.test(name)
}

/** Whether a text looks random: letters and digits in one run, longer than words are. */
export function isRandom(text: string): boolean {
  if (tokenOfBot.test(text)) return true
  return [...text.matchAll(lettersRun)].some(([run]) => /\d/.test(run) && /[A-Za-z]/.test(run))
}

/**
 * Every secret text of an upstream's settings: credentials, fixed values under a name of secrets, and the parts of its address
 * that look random.
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
    // The first three parts are the scheme, nothing, and whose address it is.
    ...url.split('/').slice(3).filter(isRandom),
    ...(typeof proxy === 'object' ? secretsOfProxy(proxy) : []),
    ...credential.flatMap(one => (one.kind === 'sign' ? one.secrets.flatMap(partsOf) : one.value)),
    ...secretValues(headers, query),
    ...secretsOfCalls(calls),
    ...keys.flatMap(key => secretsOfUpstream(key.upstream)),
  ]
}

/** A user without a password is a token. */
function secretsOfProxy({ user = '', password = '' }: ProxyAddress): readonly string[] {
  const secret = password === '' ? user : password
  return secret === '' ? [] : [secret, encodeURIComponent(secret)]
}

/** The same of the calls of an upstream or of a family. */
export function secretsOfCalls(calls: ReadonlyMap<string, Call> | undefined): readonly string[] {
  return [...(calls?.values() ?? [])].flatMap(({ headers, query, stream }) =>
    secretValues(headers, query, stream.query ?? {}),
  )
}

function secretValues(...fixed: readonly { readonly [name: string]: string }[]): readonly string[] {
  return fixed.flatMap(Object.entries<string>).flatMap(([name, value]) => (isSecretName(name) ? value : []))
}

/** Of a file of keys, which is JSON, the texts whose names say that they are secret; of a key in armour, its lines. */
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
