import type { Key } from './shapes/key.ts'

/** Secrets for browsers: kept as keys of sessions, whose name says for which key they are. Their use is that key's. */
const mark = 'client secret of '
const [shown, kept] = ['ek_', 'sk-']

export function nameOfClientSecret(keyId: string): string {
  return mark + keyId
}

/** The id of the key that a client secret is for; undefined of every other key. */
export function keyOfClientSecret({ kind, name }: Pick<Key, 'kind' | 'name'>): string | undefined {
  return kind === 'session' && name.startsWith(mark) ? name.slice(mark.length) : undefined
}

/** As clients get it: no other place takes it. */
export function showClientSecret(secret: string): string {
  return shown + secret.slice(kept.length)
}

/** The secret that is kept; undefined for what does not look like a client secret. */
export function readClientSecret(text: string): string | undefined {
  return text.startsWith(shown) ? kept + text.slice(shown.length) : undefined
}
