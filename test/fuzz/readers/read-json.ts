/** A JSON value with all of its members in order, including repeated names. */
export type Tree =
  | { readonly kind: 'object'; readonly members: readonly (readonly [name: string, value: Tree])[] }
  | { readonly kind: 'array'; readonly elements: readonly Tree[] }
  | { readonly kind: 'string'; readonly text: string }
  | { readonly kind: 'scalar'; readonly text: string }

const depthMax = 500
const scalar = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y
const blank = /[ \t\r\n]*/y
const string = /"(?:[^"\\]|\\.)*"/sy

/** Parses one JSON value by RFC 8259, but accepts raw control characters; undefined for invalid JSON. */
export function readJson(text: string): Tree | undefined {
  const reader = new Reader(text, 0, false)
  const tree = reader.value(0)
  return skipBlank(text, reader.at) === text.length ? tree : undefined
}

/**
 * Parses a value from a position as far as possible: for an incomplete or invalid value, the part before the fault.
 * Returns the position after it, so that texts of several documents can be read; undefined if no value begins there.
 */
export function readJsonAt(text: string, from: number): { readonly tree: Tree; readonly end: number } | undefined {
  const reader = new Reader(text, from, true)
  const tree = reader.value(0)
  return tree && { tree, end: reader.at }
}

/** Every complete string in a text, unescaped, whether the text is JSON or a part of it. */
export function readStrings(text: string): readonly string[] {
  return Array.from(text.matchAll(/"(?:[^"\\]|\\.)*"/gs), ([token]) => unescape(token))
}

/** Strings that are values of members with one of these names, anywhere in a text, whether it is JSON or not. */
export function readNamed(text: string, names: ReadonlySet<string>): readonly string[] {
  const found: string[] = []
  for (const [, name = '', value = ''] of text.matchAll(/("(?:[^"\\]|\\.)*")\s*:\s*("(?:[^"\\]|\\.)*")/gs))
    if (names.has(unescape(name))) found.push(unescape(value))
  return found
}

class Reader {
  at: number
  readonly #text: string
  readonly #partial: boolean

  constructor(text: string, at: number, partial: boolean) {
    this.#text = text
    this.at = at
    this.#partial = partial
  }

  value(depth: number): Tree | undefined {
    if (depth > depthMax) return undefined
    this.at = skipBlank(this.#text, this.at)
    const first = this.#text[this.at]
    if (first === '{') return this.#object(depth)
    if (first === '[') return this.#array(depth)
    if (first === '"') {
      const text = this.#string()
      return text === undefined ? undefined : { kind: 'string', text }
    }
    const text = this.#match(scalar)
    return text === undefined ? undefined : { kind: 'scalar', text }
  }

  #object(depth: number): Tree | undefined {
    const members: [string, Tree][] = []
    const isWhole = this.#list('}', () => {
      const name = this.#string()
      if (name === undefined || !this.#take(':')) return false
      const value = this.value(depth + 1)
      if (value) members.push([name, value])
      return value !== undefined
    })
    return isWhole || this.#partial ? { kind: 'object', members } : undefined
  }

  #array(depth: number): Tree | undefined {
    const elements: Tree[] = []
    const isWhole = this.#list(']', () => {
      const value = this.value(depth + 1)
      if (value) elements.push(value)
      return value !== undefined
    })
    return isWhole || this.#partial ? { kind: 'array', elements } : undefined
  }

  #list(close: string, one: () => boolean): boolean {
    this.at++
    if (this.#take(close)) return true
    do {
      this.at = skipBlank(this.#text, this.at)
      if (!one()) return false
    } while (this.#take(','))
    return this.#take(close)
  }

  #take(character: string): boolean {
    this.at = skipBlank(this.#text, this.at)
    if (this.#text[this.at] !== character) return false
    this.at++
    return true
  }

  #string(): string | undefined {
    const token = this.#match(string)
    if (token !== undefined) return unescape(token)
    if (!this.#partial || this.#text[this.at] !== '"') return undefined
    const rest = this.#text.slice(this.at)
    this.at = this.#text.length
    return unescape(`${rest}"`)
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at
    const found = pattern.exec(this.#text)?.[0]
    if (found !== undefined) this.at += found.length
    return found
  }
}

export function skipBlank(text: string, at: number): number {
  blank.lastIndex = at
  return at + (blank.exec(text)?.[0].length ?? 0)
}

const short: { readonly [letter: string]: string } = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' }

/** The content of a quoted string; an unknown escape stands for its character. */
function unescape(token: string): string {
  if (!token.includes('\\')) return token.slice(1, -1)
  return token
    .slice(1, -1)
    .replace(/\\(?:u([0-9a-fA-F]{4})|(.))/gs, (_, hex: string | undefined, letter: string) =>
      hex === undefined ? (short[letter] ?? letter) : String.fromCharCode(Number.parseInt(hex, 16)),
    )
}

/** The result that JSON.parse would return if it read names with escapes correctly (nodejs/node issue 63785). */
export function valueOf(tree: Tree): unknown {
  if (tree.kind === 'string') return tree.text
  if (tree.kind === 'scalar') return JSON.parse(tree.text)
  if (tree.kind === 'array') return tree.elements.map(valueOf)
  return Object.fromEntries(tree.members.map(([name, value]) => [name, valueOf(value)]))
}
