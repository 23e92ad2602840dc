import type { Path } from '../paths.ts'

/** The maximum number of values at one path that are kept of a list, with a limit of their characters. */
const valuesMax = 64
const charsMax = 256 * 1024

/** The values of an answer at the wanted paths: texts, and numbers and words as texts. */
export class AnswerValues {
  readonly #byPath = new Map<Path, { readonly values: string[]; chars: number }>()

  add(path: Path, value: string): void {
    const known = this.#byPath.get(path)
    if (!known) {
      this.#byPath.set(path, { values: [value], chars: value.length })
      return
    }
    const { values } = known
    known.chars += value.length
    // Keeps the last value, however many there are.
    if (values.length < valuesMax && known.chars <= charsMax) values.push(value)
    else values[values.length - 1] = value
  }

  /** The last values, for a stream whose events repeat them. */
  readonly of = (path: Path): readonly string[] => this.#byPath.get(path)?.values ?? none

  first(paths: readonly Path[]): string | undefined {
    for (const path of paths) {
      const value = this.of(path).find(one => one !== '' && one !== objectMark)
      if (value !== undefined) return value
    }
    return undefined
  }

  last(path: Path): string | undefined {
    return this.of(path).findLast(value => value !== objectMark)
  }

  /** Adds the head of the answer, at separate paths. */
  addHead(status: number, headers: { readonly [name: string]: string }): void {
    this.add('http_status', String(status))
    for (const [name, value] of Object.entries(headers)) this.add(`header.${name}`, value)
  }

  /** Adds values of an earlier answer, by names, at paths with a prefix. */
  addKept(before: string, kept: { readonly [name: string]: string } = {}): void {
    for (const [name, value] of Object.entries(kept)) this.add(`${before}${name}`, value)
  }
}

const none: readonly string[] = []

/** Represents an object, of which only its presence is known. */
export const objectMark = '{…}'
