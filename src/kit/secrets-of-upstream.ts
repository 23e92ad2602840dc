import type { Call, Upstream } from './model.ts'

/** Names of headers, parameters and members under which secrets go. */
const secretName = /auth|key|token|secret|cookie|passw|signature|credential|^(?:sig|code|pw|pwd|jwt|sas)$/i

export function isSecretName(name: string): boolean {
  return secretName.test(name)
}

/** Every text of an upstream's settings that nobody else may see: credentials, and what is fixed under a name of secrets. */
export function secretsOfUpstream({ credential, headers, query, calls, keys = [] }: Upstream): readonly string[] {
  return [
    ...credential.flatMap(one => (one.kind === 'sign' ? one.secrets.flatMap(partsOf) : one.value)),
    ...secretValues(headers, query),
    ...secretsOfCalls(calls),
    ...keys.flatMap(key => secretsOfUpstream(key.upstream)),
  ]
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
