import { FreeNames } from './free-names.ts'
import { writeScalar } from './yaml-words.ts'

/** A secret of the other gateway, and the file for it. */
export type SecretFile = { readonly name: string; readonly value: string }

/** Vendor keys of the imported text: each gets its own file, and the configuration refers to the file. */
export class SecretBook {
  readonly files: SecretFile[] = []
  readonly #folder: string | undefined
  readonly #byValue = new Map<string, string>()
  readonly #variables: string[] = []
  readonly #names = new FreeNames()

  /** @param folder as the configuration refers to it; if undefined, variables are used */
  constructor(folder: string | undefined) {
    this.#folder = folder
  }

  /** The reference that replaces a secret, or why there can be none. `name` is the wanted name of its file. */
  keep(value: string, name: string): { readonly reference: string } | { readonly why: string } {
    if (!/^[\t\x20-\x7e]+$/.test(value)) return { why: 'its key has characters that are not valid in a header' }
    const known = this.#byValue.get(value)
    if (known !== undefined) return { reference: known }
    if (this.#folder === undefined) {
      const variable = `${name.toUpperCase().replaceAll(/\W+/g, '_')}_IMPORTED_KEY_${this.#variables.length + 1}`
      this.#variables.push(variable)
      this.#byValue.set(value, `\${${variable}:-}`)
      return { reference: `\${${variable}:-}` }
    }
    const own = this.#names.take(name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-'))
    this.files.push({ name: own, value })
    const reference = `\${file:${this.#folder}/${own}}`
    this.#byValue.set(value, reference)
    return { reference }
  }

  /** The remedy if there is no folder: one sentence for each secret. */
  notes(): readonly string[] {
    return this.#variables.map(
      name => `the file contains a key, which was not copied: set ${name} to it, or set a folder with --secrets`,
    )
  }
}

/** The header with which a request sends a key. */
export type CredentialShape = { readonly header: string; readonly before: string }

/** A credential as YAML. */
export function writeCredential({ header, before }: CredentialShape, reference: string): string {
  return `{ header: ${writeScalar(header)}, value: ${JSON.stringify(`${before}${reference}`)} }`
}
