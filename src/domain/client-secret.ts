import type { Key } from './shapes/key.ts'

/** Client secrets for browsers. Each is stored as a session key whose name contains the id of the key that pays. */
const mark = 'client secret of '
const [shown, kept] = ['ek_', 'sk-']

export function nameOfClientSecret(keyId: string): string {
  return mark + keyId
}

/** Id of the key that made a client secret; undefined for any other key. */
export function keyOfClientSecret({ kind, name }: Pick<Key, 'kind' | 'name'>): string | undefined {
  return kind === 'session' && name.startsWith(mark) ? name.slice(mark.length) : undefined
}

/** Secret in the form clients receive, with the prefix `ek_`. */
export function showClientSecret(secret: string): string {
  return shown + secret.slice(kept.length)
}

/** Secret in the form that is stored, with the prefix `sk-`; undefined without the prefix `ek_`. */
export function readClientSecret(text: string): string | undefined {
  return text.startsWith(shown) ? kept + text.slice(shown.length) : undefined
}
