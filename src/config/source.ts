import type { Origin } from '../kit/index.ts'

/** A file's text with its lines found; lines and columns count from 1, columns in UTF-16 units as editors count them. */
export class Source {
  readonly file: string
  readonly text: string
  readonly #lineStarts: number[] = [0]

  constructor(file: string, text: string) {
    this.file = file
    this.text = text
    for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) this.#lineStarts.push(at + 1)
  }

  /** The place of an offset; past the end is the end. */
  locate(offset: number): Origin {
    const at = Math.min(offset, this.text.length)
    let low = 0
    let high = this.#lineStarts.length - 1
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if ((this.#lineStarts[middle] as number) <= at) low = middle
      else high = middle - 1
    }
    return { file: this.file, line: low + 1, col: at - (this.#lineStarts[low] as number) + 1 }
  }

  /** Where a line begins and ends, its line break left out. */
  lineSpan(line: number): { readonly start: number; readonly end: number } {
    const start = this.#lineStarts[line - 1] ?? this.text.length
    const next = this.#lineStarts[line]
    let end = next === undefined ? this.text.length : next - 1
    if (end > start && this.text[end - 1] === '\r') end--
    return { start, end }
  }
}
