import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto'
import type { Host } from '../../../src/plugin-api/index.ts'

const algorithm = 'aes-256-gcm'
const purpose = 'tollgate kept responses'
const [keyBytes, ivBytes, tagBytes] = [32, 12, 16]
/** The version of the stored form. */
const mark = 'v1.'

/** Encrypts texts for storage. A text is bound to its place, and cannot be decrypted for another one. */
export class TextCipher {
  readonly #keys: readonly Uint8Array[]
  readonly #random: Host['random']

  /** @param secrets the operator's secrets; the first one encrypts, all of them decrypt */
  constructor(secrets: readonly string[], random: Host['random']) {
    this.#random = random
    this.#keys = secrets.map(secret => new Uint8Array(hkdfSync('sha256', secret, '', purpose, keyBytes)))
  }

  encrypt(text: string, place: string): string {
    const [key] = this.#keys
    if (!key) throw new Error('a cipher without a key')
    const iv = this.#random.bytes(ivBytes)
    const cipher = createCipheriv(algorithm, key, iv).setAAD(Buffer.from(place))
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
    return mark + Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64')
  }

  /** Undefined if no key matches, or the text was changed or belongs to another place. */
  decrypt(kept: string, place: string): string | undefined {
    if (!kept.startsWith(mark)) return undefined
    const bytes = Buffer.from(kept.slice(mark.length), 'base64')
    const iv = bytes.subarray(0, ivBytes)
    const tag = bytes.subarray(ivBytes, ivBytes + tagBytes)
    if (tag.length < tagBytes) return undefined
    for (const key of this.#keys) {
      const cipher = createDecipheriv(algorithm, key, iv, { authTagLength: tagBytes })
      cipher.setAAD(Buffer.from(place)).setAuthTag(tag)
      try {
        return Buffer.concat([cipher.update(bytes.subarray(ivBytes + tagBytes)), cipher.final()]).toString()
      } catch {
        // Another key may match.
      }
    }
    return undefined
  }
}
