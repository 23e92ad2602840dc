import type { Json } from '../domain/index.ts'

/** A number or a word, matched by a native regular expression: it may have millions of digits. */
const scalar = /[^\s,\]}]*/y

const quote = 0x22
const backslash = 0x5c

/**
 * JSON.parse for a valid text of known depth, except for names with escapes. V8 takes such a name for another one of an
 * earlier object of the same shape (nodejs/node issue 63785, Node 24 to 26): after any `{"a":1,"\\u00":0}` it parses
 * `{"a":1,"\u0074ype":…}` without a `type`, so one client could change how another's request is understood.
 */
export function parseJson(text: string): Json {
  return hasEscapedName(text) ? new Parser(text).value() : (JSON.parse(text) as Json)
}

/** The same for a text that may be invalid: undefined for one that is not JSON. */
export function parseJsonIfValid(text: string): Json | undefined {
  try {
    const value = JSON.parse(text) as Json
    return hasEscapedName(text) ? new Parser(text).value() : value
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

function hasEscapedName(text: string): boolean {
  if (!text.includes('\\')) return false
  for (let at = text.indexOf('"'); at >= 0; ) {
    const end = stringEnd(text, at)
    if (text[skipBlank(text, end)] === ':' && text.slice(at, end).includes('\\')) return true
    at = text.indexOf('"', end)
  }
  return false
}

/** The position after the string that begins here. */
function stringEnd(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let before = at
    while (text.charCodeAt(before - 1) === backslash) before--
    if ((at - before) % 2 === 0) return at + 1
  }
  return text.length
}

function skipBlank(text: string, from: number): number {
  let at = from
  while (text.charCodeAt(at) <= 0x20) at++
  return at
}

/** A list or an object that is being read; an object has a name for each value. */
type Open = { readonly values: Json[]; readonly names: string[] | undefined }

/** Works without recursion, because the sender of the text chooses its depth. */
class Parser {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  value(): Json {
    const open: Open[] = []
    for (;;) {
      let value = this.#begin(open)
      for (let last = open.at(-1); value !== undefined || last; last = open.at(-1)) {
        if (!last) return value as Json
        if (value !== undefined) last.values.push(value)
        if (this.#more(last)) break
        open.pop()
        value = toValue(last)
      }
    }
  }

  /** Reads a value, or opens a list or an object: then returns undefined. */
  #begin(open: Open[]): Json | undefined {
    this.#at = skipBlank(this.#text, this.#at)
    const first = this.#text[this.#at]
    if (first === '{' || first === '[') {
      open.push({ values: [], names: first === '{' ? [] : undefined })
      return undefined
    }
    if (this.#text.charCodeAt(this.#at) === quote) return this.#string()
    const start = this.#at
    scalar.lastIndex = start
    this.#at += scalar.exec(this.#text)?.[0].length ?? 0
    return JSON.parse(this.#text.slice(start, this.#at)) as Json
  }

  /** Steps over the bracket or comma before the next value, and reads its name; false at the end. */
  #more({ names }: Open): boolean {
    const close = names ? '}' : ']'
    const at = skipBlank(this.#text, this.#at)
    if (this.#text[at] === close) {
      this.#at = at + 1
      return false
    }
    this.#at = skipBlank(this.#text, at + 1)
    if (this.#text[this.#at] === close) {
      this.#at++
      return false
    }
    if (!names) return true
    names.push(this.#string())
    this.#at = skipBlank(this.#text, this.#at) + 1
    return true
  }

  /** A string alone is not an object, so V8's error does not affect it. */
  #string(): string {
    const end = stringEnd(this.#text, this.#at)
    const token = this.#text.slice(this.#at, end)
    this.#at = end
    return JSON.parse(token) as string
  }
}

function toValue({ names, values }: Open): Json {
  return names ? Object.fromEntries(names.map((name, i) => [name, values[i] as Json])) : values
}
