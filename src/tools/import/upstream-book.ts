import { FreeNames } from './free-names.ts'
import { type CredentialShape, writeCredential } from './secret-book.ts'
import { writeMap, writeScalar } from './yaml-words.ts'

/** The address and the settings of an upstream, without its key. Values are YAML. */
export type Place = {
  readonly url: string
  readonly credential?: CredentialShape
  readonly rest: readonly (readonly [key: string, value: string | undefined])[]
}

/** One of several keys of an upstream. */
export type PooledKey = {
  /** Its name; by default that of its variable or file. */
  readonly name?: string
  readonly reference: string
  /** Its share among the keys. */
  readonly weight: number
  readonly concurrency?: string | undefined
}

/** The upstreams of routes: one for each place and key, or keys, each with a stable name. */
export class UpstreamBook {
  readonly #names = new Map<string, string>()
  readonly #free = new FreeNames()
  readonly #remarks = new Map<string, string>()
  readonly #pools = new Map<string, readonly number[]>()

  /** @param reference the reference to the key; undefined if the upstream needs none */
  nameOf(place: Place, reference: string | undefined, base: string, remark?: string): string {
    const { url, credential, rest } = place
    const secret = credential && reference !== undefined ? writeCredential(credential, reference) : undefined
    return this.#nameFor(writeMap([['url', url], ['credential', secret], ...rest]), base, remark)
  }

  /** The same for an upstream with several keys. */
  poolOf(place: Place, keys: readonly PooledKey[], base: string, remark?: string): string {
    const { url, credential, rest } = place
    const names = new FreeNames()
    const written = keys.map(({ name, reference, weight, concurrency }) => {
      const own = names.take(name ?? nameOfReference(reference))
      const fields = [
        ['value', JSON.stringify(reference)],
        ['weight', weight === 1 ? undefined : String(weight)],
        ['concurrency', concurrency],
      ] as const
      return [own, writeMap(fields)] as const
    })
    const secret = credential && writeCredential(credential, '{key}')
    const text = writeMap([['url', url], ['credential', secret], ['keys', writeMap(written)], ...rest])
    const name = this.#nameFor(text, base, remark)
    this.#pools.set(
      name,
      keys.map(key => key.weight),
    )
    return name
  }

  /** One sentence for each upstream with several keys. */
  poolNotes(isUsed: (name: string) => boolean): readonly string[] {
    return [...this.#pools].flatMap(([name, weights]) => {
      const shares = new Set(weights).size === 1 ? 'equal shares' : `the shares ${weights.join(' : ')}`
      return isUsed(name) ? [`the upstream ${name} has ${weights.length} keys, of ${shares}`] : []
    })
  }

  /** One line of YAML for each upstream; unused upstreams are comments. */
  lines(isUsed: (name: string) => boolean): readonly string[] {
    return [...this.#names].flatMap(([text, name]) => {
      const remark = this.#remarks.get(name)
      const line = `  ${isUsed(name) ? '' : '# '}${writeScalar(name)}: ${text}`
      return remark === undefined ? [line] : [`  # ${remark}`, line]
    })
  }

  #nameFor(text: string, base: string, remark: string | undefined): string {
    const known = this.#names.get(text)
    if (known !== undefined) return known
    const name = this.#free.take(base)
    this.#names.set(text, name)
    if (remark !== undefined) this.#remarks.set(name, remark)
    return name
  }
}

/** `${OPENAI_KEY_A:-}` → `openai-key-a`, `${file:./secrets/openai-2}` → `openai-2`. */
function nameOfReference(reference: string): string {
  const inside = reference.slice(2, -1).replace(/:-$/, '')
  const last = inside.slice(inside.lastIndexOf('/') + 1)
  return last.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')
}
