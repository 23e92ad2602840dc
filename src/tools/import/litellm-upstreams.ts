import type { Vendor } from './litellm-vendors.ts'
import type { Fields } from './read-litellm.ts'
import { writeMap, writeScalar } from './yaml-words.ts'

const fromEnvironment = /^os\.environ\/(\w+)$/

/** The upstreams that deployments run on: one for each address and key. */
export class Upstreams {
  readonly #names = new Map<string, string>()
  /** By key that stands in the file: the variable that is to hold it. */
  readonly #literals = new Map<string, string>()
  readonly #notes: string[]

  constructor(notes: string[]) {
    this.#notes = notes
  }

  /** The name of the upstream of a deployment; undefined where the file does not say where it is. */
  nameOf(prefix: string, vendor: Vendor, params: Fields): string | undefined {
    const url = this.#urlOf(vendor, params['api_base'] ?? params['base_url'])
    if (url === undefined) return undefined
    const text = writeMap([
      ['url', url],
      ['credential', this.#credentialOf(prefix, vendor, params['api_key'])],
    ])
    const known = this.#names.get(text)
    if (known !== undefined) return known
    const base = prefix.replaceAll('_', '-')
    const taken = new Set(this.#names.values())
    let name = base
    for (let i = 2; taken.has(name); i++) name = `${base}-${i}`
    this.#names.set(text, name)
    return name
  }

  /** Each as a line of YAML. */
  lines(): readonly string[] {
    return [...this.#names].map(([text, name]) => `  ${writeScalar(name)}: ${text}`)
  }

  #urlOf({ url, path = '' }: Vendor, given: unknown): string | undefined {
    if (typeof given !== 'string') return url === undefined ? undefined : JSON.stringify(url)
    const variable = fromEnvironment.exec(given)?.[1]
    if (variable !== undefined) {
      this.#note(`${variable} is the address that /v1/… is appended to: set it without /v1 at its end`)
      const unset = `https://${variable.toLowerCase().replaceAll('_', '-')}-is-not-set.invalid`
      return JSON.stringify(`\${${variable}:-${unset}}${path}`)
    }
    const bare = given.replace(/(?<!\/)\/+$/, '').replace(/\/v1$/, '')
    return /^https?:\/\/[^\s@?#]+$/.test(bare)
      ? JSON.stringify(bare.endsWith(path) ? bare : `${bare}${path}`)
      : undefined
  }

  #credentialOf(prefix: string, { style, key, path }: Vendor, given: unknown): string | undefined {
    const variable = this.#variableOf(prefix, given) ?? key
    if (variable === undefined) return undefined
    const secret = `\${${variable}:-}`
    const bearer = style === 'openai' && path === undefined
    const header = style === 'anthropic' ? 'x-api-key' : style === 'google' ? 'x-goog-api-key' : 'api-key'
    if (bearer || style === 'cohere')
      return writeMap([
        ['header', 'authorization'],
        ['value', JSON.stringify(`Bearer ${secret}`)],
      ])
    return writeMap([
      ['header', header],
      ['value', JSON.stringify(secret)],
    ])
  }

  #variableOf(prefix: string, given: unknown): string | undefined {
    if (typeof given !== 'string' || given === '') return undefined
    const variable = fromEnvironment.exec(given)?.[1]
    if (variable !== undefined) return variable
    const own = this.#literals.get(given) ?? `${prefix.toUpperCase()}_IMPORTED_KEY_${this.#literals.size + 1}`
    this.#literals.set(given, own)
    this.#note(`a key of ${prefix} stands in the file and was not copied: set ${own} to it`)
    return own
  }

  #note(text: string): void {
    if (!this.#notes.includes(text)) this.#notes.push(text)
  }
}
