/** One statement of a dump, without comments; `/*! … *\/` is not a comment. */
export type Statement = { readonly text: string; readonly line: number }

/** The maximum lookahead: a mark of a comment, or a delimiter. */
const ahead = 32
const begins = /^-- (?:MySQL|MariaDB|mysqldump) dump\b/i
const completes = /^-- Dump completed\b/i
const delimiterLine = /^DELIMITER[ \t]+(\S+)[ \t]*(?:\r?\n|$)/i

/** A dump that cannot be read completely; nothing of it is imported. */
export class DumpFault extends Error {
  constructor(line: number, what: string) {
    super(`line ${line} of the dump: ${what}`)
  }
}

/** Splits a dump into its statements, piece by piece, and detects whether it is complete. */
export class DumpStatements {
  /** Whether backslashes are ordinary characters, as the SQL mode sets. */
  isPlain = false
  readonly #marks = { begun: 0, completed: 0 }
  #rest = ''
  #pieces: string[] = []
  #line = 1
  #startLine = 1
  #quote = ''
  #isRunning = false
  #hasBegun = false
  #delimiter = ';'

  /**
   * @throws DumpFault if something is not closed, or the mark of the end is missing for a dump that has a mark of its
   * beginning
   */
  finish(): { readonly isMarked: boolean } {
    if (this.#quote !== '' || this.#isRunning || this.#pieces.join('').trim() !== '')
      throw new DumpFault(this.#startLine, 'the statement that starts there is incomplete: the dump is truncated')
    const { begun, completed } = this.#marks
    if (begun > completed) throw new DumpFault(this.#line, "'-- Dump completed' is missing: the dump is truncated")
    return { isMarked: completed > 0 }
  }

  /** Returns the statements that end in the text so far. */
  *read(text: string, isLast: boolean): Generator<Statement> {
    const all = this.#rest + text
    const end = isLast ? all.length : all.length - ahead
    let [at, from] = [0, 0]
    const keep = (until: number): void => {
      if (until > from) this.#pieces.push(all.slice(from, until))
    }
    while (at < end) {
      const char = all[at] as string
      if (this.#quote !== '') {
        at = this.#inQuote(all, at, end)
        continue
      }
      if (char === '\n') this.#line++
      if (!this.#hasBegun && !/\s/.test(char)) {
        // No statement has begun: the white space before it is not part of it.
        this.#pieces = []
        from = at
        this.#startLine = this.#line
        const line = all.indexOf('\n', at)
        const named = delimiterLine.exec(all.slice(at, line === -1 ? all.length : line + 1))
        if (named && (line !== -1 || isLast)) {
          this.#delimiter = named[1] as string
          at += named[0].length
          this.#line++
          from = at
          continue
        }
        if (named && line === -1) break
      }
      if (all.startsWith(this.#delimiter, at)) {
        keep(at)
        at += this.#delimiter.length
        from = at
        const whole = this.#pieces.join('').trim()
        this.#pieces = []
        this.#hasBegun = false
        if (whole !== '') yield { text: whole, line: this.#startLine }
      } else if (char === "'" || char === '"' || char === '`') {
        this.#quote = char
        this.#hasBegun = true
        at++
      } else if (char === '#' || (all.startsWith('--', at) && /^(?:\s|$)/.test(all.slice(at + 2, at + 3)))) {
        const stop = all.indexOf('\n', at)
        if (stop === -1 && !isLast) break
        keep(at)
        const comment = all.slice(at, stop === -1 ? all.length : stop)
        if (begins.test(comment)) this.#marks.begun++
        if (completes.test(comment)) this.#marks.completed++
        at = stop === -1 ? all.length : stop
        from = at
      } else if (all.startsWith('/*', at)) {
        const opened = /^\/\*M?!\d*/.exec(all.slice(at, at + ahead))
        const stop = all.indexOf('*/', at + 2)
        keep(at)
        // `\-` is an instruction to the client, and not a statement.
        if (opened && !/^\s*\\-/.test(all.slice(at + opened[0].length, at + ahead))) {
          this.#pieces.push(' ')
          this.#isRunning = true
          at += opened[0].length
          from = at
        } else {
          if (stop === -1 && !isLast) {
            from = at
            break
          }
          if (stop === -1) throw new DumpFault(this.#line, 'a comment is not closed')
          this.#line += linesIn(all.slice(at, stop))
          at = stop + 2
          from = at
        }
      } else if (this.#isRunning && all.startsWith('*/', at)) {
        keep(at)
        this.#isRunning = false
        at += 2
        from = at
      } else {
        this.#hasBegun ||= !/\s/.test(char)
        at++
      }
    }
    keep(Math.min(at, all.length))
    this.#rest = all.slice(Math.min(at, all.length))
  }

  /** Reads on within quotes, to the closing quote or the end. */
  #inQuote(all: string, from: number, end: number): number {
    for (let at = from; at < end; at++) {
      const char = all[at]
      if (char === '\n') this.#line++
      else if (char === '\\' && this.#quote !== '`' && !this.isPlain) {
        if (all[at + 1] === '\n') this.#line++
        at++
      } else if (char === this.#quote) {
        // A doubled quote is one character: after the first, the second opens the rest of the text again.
        this.#quote = ''
        return at + 1
      }
      if (at + 1 >= end) return at + 1
    }
    return end
  }
}

function linesIn(text: string): number {
  return text.split('\n').length - 1
}
