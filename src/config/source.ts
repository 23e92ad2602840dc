import type { Origin } from '../domain/index.ts'
import { firstAt } from '../util/index.ts'

/** The text of one file in a source. */
export type SourceFile = { readonly file: string; readonly start: number; readonly end: number }

/**
 * The text of a file and of the files that belong to it, joined, so that one range of offsets covers all of them. Lines
 * and columns count from 1; columns are UTF-16 units, as in editors.
 */
export class Source {
  readonly file: string
  #text: string
  readonly #lineStarts: number[] = []
  readonly #sourceFiles: (SourceFile & { readonly firstLine: number })[] = []

  constructor(file: string, text: string) {
    this.file = file
    this.#text = text
    this.#takeIn(file, 0)
  }

  /** The joined text of all files. */
  get text(): string {
    return this.#text
  }

  /** The text of the main file. */
  get ownText(): string {
    return this.#text.slice(0, this.#sourceFiles[0]?.end)
  }

  /** Appends the text of another file. @returns the offset at which it begins */
  add(file: string, text: string): number {
    const start = this.#text.length + 1
    this.#text += `\n${text}`
    this.#takeIn(file, start)
    return start
  }

  #takeIn(file: string, start: number): void {
    this.#sourceFiles.push({ file, start, end: this.#text.length, firstLine: this.#lineStarts.length })
    this.#lineStarts.push(start)
    for (let at = this.#text.indexOf('\n', start); at !== -1; at = this.#text.indexOf('\n', at + 1))
      this.#lineStarts.push(at + 1)
  }

  /** The place of an offset; an offset after the end has the place of the end. */
  locate(offset: number): Origin {
    const at = Math.min(offset, this.#text.length)
    const line = this.#lineOf(at)
    const { file, firstLine } = this.sourceFileOf(at)
    return { file, line: line - firstLine + 1, col: at - (this.#lineStarts[line] as number) + 1 }
  }

  sourceFileOf(offset: number): SourceFile & { readonly firstLine: number } {
    return this.#sourceFiles.findLast(sourceFile => sourceFile.start <= offset) as SourceFile & {
      readonly firstLine: number
    }
  }

  /** Start and end of the line at an offset, without its line break. */
  lineSpanAt(offset: number): { readonly start: number; readonly end: number } {
    const at = Math.min(offset, this.#text.length)
    const line = this.#lineOf(at)
    const start = this.#lineStarts[line] as number
    const next = this.#lineStarts[line + 1]
    let end = next === undefined ? this.#text.length : next - 1
    if (end > start && this.#text[end - 1] === '\r') end--
    return { start, end }
  }

  #lineOf(at: number): number {
    return firstAt(this.#lineStarts.length, line => (this.#lineStarts[line] as number) <= at) - 1
  }
}
