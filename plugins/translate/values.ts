import type { Path } from '../../src/wire/index.ts'
import { keptBefore } from './describe.ts'

/** What a list says at one path is kept so often. */
const valuesMax = 64

/** What an answer has said, by the paths that are looked at: texts, numbers and words as texts. */
export class Values {
  readonly #byPath = new Map<Path, string[]>()

  add(path: Path, value: string): void {
    const values = this.#byPath.get(path)
    if (!values) this.#byPath.set(path, [value])
    else if (values.length < valuesMax) values.push(value)
    // What is said last is known, however often it is said.
    else values[valuesMax - 1] = value
  }

  /** What was said last, for a stream whose events say it again. */
  readonly of = (path: Path): readonly string[] => this.#byPath.get(path) ?? none

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

  /** What an answer before this one has said, by names. */
  addKept(kept: { readonly [name: string]: string } = {}): void {
    for (const [name, value] of Object.entries(kept)) this.add(`${keptBefore}${name}`, value)
  }
}

const none: readonly string[] = []

/** Stands for a mapping, of which no more is known than that it is there. */
export const objectMark = '{…}'
