import type { Path } from '../paths.ts'

/** What a list says at one path is kept so often, and no more characters of it. */
const valuesMax = 64
const charsMax = 256 * 1024

/** What an answer has said, by the paths that are looked at: texts, numbers and words as texts. */
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
    // What is said last is known, however often it is said.
    if (values.length < valuesMax && known.chars <= charsMax) values.push(value)
    else values[values.length - 1] = value
  }

  /** What was said last, for a stream whose events say it again. */
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

  /** The head of the answer, at paths of its own. */
  addHead(status: number, headers: { readonly [name: string]: string }): void {
    this.add('http_status', String(status))
    for (const [name, value] of Object.entries(headers)) this.add(`header.${name}`, value)
  }

  /** What an answer before this one has said, by names, at paths that begin so. */
  addKept(before: string, kept: { readonly [name: string]: string } = {}): void {
    for (const [name, value] of Object.entries(kept)) this.add(`${before}${name}`, value)
  }
}

const none: readonly string[] = []

/** A mapping, of which no more is known than that it is there. */
export const objectMark = '{…}'
