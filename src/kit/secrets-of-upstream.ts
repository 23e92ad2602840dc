import type { Upstream } from './model.ts'

/** Names of headers, parameters and members under which secrets go. */
const secretName = /auth|key|token|secret|cookie|passw|signature|credential/i

export function isSecretName(name: string): boolean {
  return secretName.test(name)
}

/** Every text of an upstream's settings that nobody else may see: credentials, and what is fixed under a name of secrets. */
export function secretsOfUpstream({ credential, headers, query }: Upstream): readonly string[] {
  const fixed = [...Object.entries(headers), ...Object.entries(query)].filter(([name]) => isSecretName(name))
  return [
    ...credential.flatMap(one => (one.kind === 'sign' ? one.secrets.flatMap(partsOf) : one.value)),
    ...fixed.map(([, value]) => value),
  ]
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
