import { type CredentialShape, writeCredential } from './secret-book.ts'
import { writeMap, writeScalar } from './yaml-words.ts'

/** Where and how an upstream is asked, its key left out. Values are YAML already. */
export type Place = {
  readonly url: string
  readonly credential?: CredentialShape
  readonly rest: readonly (readonly [key: string, value: string | undefined])[]
}

/** The upstreams that routes run on: one for each place and key, each known by a name that stays the same. */
export class UpstreamBook {
  readonly #names = new Map<string, string>()
  readonly #remarks = new Map<string, string>()

  /** @param reference what stands for the key; undefined where the place asks for none */
  nameOf(place: Place, reference: string | undefined, base: string, remark?: string): string {
    const { url, credential, rest } = place
    const secret = credential && reference !== undefined ? writeCredential(credential, reference) : undefined
    const text = writeMap([['url', url], ['credential', secret], ...rest])
    const known = this.#names.get(text)
    if (known !== undefined) return known
    const taken = new Set(this.#names.values())
    let name = base
    for (let i = 2; taken.has(name); i++) name = `${base}-${i}`
    this.#names.set(text, name)
    if (remark !== undefined) this.#remarks.set(name, remark)
    return name
  }

  /** Each as a line of YAML; those that nothing uses are comments. */
  lines(isUsed: (name: string) => boolean): readonly string[] {
    return [...this.#names].flatMap(([text, name]) => {
      const remark = this.#remarks.get(name)
      const line = `  ${isUsed(name) ? '' : '# '}${writeScalar(name)}: ${text}`
      return remark === undefined ? [line] : [`  # ${remark}`, line]
    })
  }
}
