import { DumpFault, type Statement } from './dump-statements.ts'
import type { Cell } from './foreign-book.ts'

const escapes: { readonly [char: string]: string } = {
  0: '\0',
  b: '\b',
  n: '\n',
  r: '\r',
  t: '\t',
  Z: '\u001a',
  '%': String.raw`\%`,
  _: String.raw`\_`,
}

/** Reads one statement of a dump, word by word. */
export class StatementReader {
  readonly #text: string
  readonly #line: number
  readonly #isPlain: boolean
  #at = 0

  constructor({ text, line }: Statement, isPlain: boolean) {
    this.#text = text
    this.#line = line
    this.#isPlain = isPlain
  }

  /** Reads the next bare word, in capitals; undefined if the next token is not one. */
  word(): string | undefined {
    return this.#match(/[A-Za-z_@][\w$@]*/y)?.toUpperCase()
  }

  /** Reads the given bare word if it is next. */
  isNext(word: string): boolean {
    const at = this.#at
    if (this.word() === word) return true
    this.#at = at
    return false
  }

  /** Reads the given sign if it is next. */
  sign(sign: string): boolean {
    this.#skip()
    if (!this.#text.startsWith(sign, this.#at)) return false
    this.#at += sign.length
    return true
  }

  need(sign: string): void {
    if (!this.sign(sign)) throw this.fault(`'${sign}' is missing`)
  }

  get isOver(): boolean {
    this.#skip()
    return this.#at >= this.#text.length
  }

  /** A name, and whether it was quoted; for `db.table`, the last part. */
  name(): { readonly text: string; readonly isQuoted: boolean } {
    this.#skip()
    const quote = this.#text[this.#at]
    if (quote === '`' || quote === '"') {
      const text = this.#quoted(quote, false)
      return this.sign('.') ? this.name() : { text, isQuoted: true }
    }
    const text = this.#match(/[\w$\u0080-\uffff]+/y)
    if (text === undefined) throw this.fault('a name is missing')
    return this.sign('.') ? this.name() : { text, isQuoted: false }
  }

  /** Reads a value of a row. */
  value(): Cell {
    this.#skip()
    const [char] = this.#text.slice(this.#at, this.#at + 1)
    if (char === "'" || char === '"') {
      let text = this.#quoted(char, !this.#isPlain)
      for (this.#skip(); this.#text[this.#at] === "'"; this.#skip()) text += this.#quoted("'", !this.#isPlain)
      return text
    }
    const hex = this.#match(/0[xX][0-9A-Fa-f]*(?![\w$])/y)?.slice(2) ?? this.#match(/[xX]'[0-9A-Fa-f]*'/y)?.slice(2, -1)
    if (hex !== undefined) {
      if (hex.length % 2 === 1) throw this.fault('a hexadecimal value has an odd number of digits')
      return Buffer.from(hex, 'hex').toString()
    }
    const bits = this.#match(/[bB]'[01]*'/y)?.slice(2, -1) ?? this.#match(/0b[01]+(?![\w$])/y)?.slice(2)
    if (bits !== undefined) return bits === '' ? '0' : String(BigInt(`0b${bits}`))
    const number = this.#match(/[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?(?![\w$])/y)
    if (number !== undefined) return number
    const word = this.word()
    if (word === 'NULL') return null
    if (word === 'TRUE') return '1'
    if (word === 'FALSE') return '0'
    this.#skip()
    // _utf8mb4'…', _binary 0x…, N'…': the prefix is a character set, or means none.
    const next = this.#text[this.#at]
    if (
      word !== undefined &&
      (/^_\w+$/.test(word) || word === 'N') &&
      (next === "'" || next === '"' || next === '0' || next === 'x' || next === 'X')
    )
      return this.value()
    throw this.fault('a value is not text, a number or NULL')
  }

  /** Skips a bracket with its values. */
  skipBrackets(): void {
    this.need('(')
    for (let depth = 1; depth > 0; ) {
      this.#skip()
      const char = this.#text[this.#at]
      if (char === undefined) throw this.fault('a bracket is not closed')
      if (char === "'" || char === '"' || char === '`') this.#quoted(char, char !== '`' && !this.#isPlain)
      else {
        if (char === '(') depth++
        if (char === ')') depth--
        this.#at++
      }
    }
  }

  /** Skips to the next comma or closing bracket of this depth. */
  skipPart(): void {
    for (;;) {
      this.#skip()
      const char = this.#text[this.#at]
      if (char === undefined || char === ',' || char === ')') return
      if (char === '(') this.skipBrackets()
      else if (char === "'" || char === '"' || char === '`') this.#quoted(char, char !== '`' && !this.#isPlain)
      else this.#at++
    }
  }

  fault(what: string): DumpFault {
    return new DumpFault(this.#line, `in the statement that starts there ${what}`)
  }

  #quoted(quote: string, escaped: boolean): string {
    let text = ''
    let from = ++this.#at
    for (; this.#at < this.#text.length; this.#at++) {
      const char = this.#text[this.#at]
      if (escaped && char === '\\') {
        const next = this.#text[this.#at + 1] ?? ''
        text += this.#text.slice(from, this.#at) + (escapes[next] ?? next)
        from = ++this.#at + 1
      } else if (char === quote) {
        text += this.#text.slice(from, this.#at)
        this.#at++
        if (this.#text[this.#at] !== quote) return text
        from = this.#at
      }
    }
    throw this.fault('a quote is not closed')
  }

  #skip(): void {
    while (/\s/.test(this.#text[this.#at] ?? 'x')) this.#at++
  }

  #match(pattern: RegExp): string | undefined {
    this.#skip()
    pattern.lastIndex = this.#at
    const [found] = pattern.exec(this.#text) ?? []
    if (found !== undefined) this.#at += found.length
    return found
  }
}
