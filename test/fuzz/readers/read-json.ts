/** A JSON value with every member that was written, in order: names that come twice are there twice. */
export type Tree =
  | { readonly kind: 'object'; readonly members: readonly (readonly [name: string, value: Tree])[] }
  | { readonly kind: 'array'; readonly elements: readonly Tree[] }
  | { readonly kind: 'string'; readonly text: string }
  | { readonly kind: 'scalar'; readonly text: string }

const depthMax = 500
const scalar = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y
const blank = /[ \t\r\n]*/y
const string = /"(?:[^"\\]|\\.)*"/sy

/** Reads one JSON value as RFC 8259 writes it, forgiving raw control characters; undefined for what is none. */
export function readJson(text: string): Tree | undefined {
  const reader = new Reader(text, 0, false)
  const tree = reader.value(0)
  return skipBlank(text, reader.at) === text.length ? tree : undefined
}

/**
 * Reads a value from a place on, as far as it goes: of one that breaks off or is broken what stands before. With the place
 * after it, so that texts of several documents can be read; undefined where none begins.
 */
export function readJsonAt(text: string, from: number): { readonly tree: Tree; readonly end: number } | undefined {
  const reader = new Reader(text, from, true)
  const tree = reader.value(0)
  return tree && { tree, end: reader.at }
}

/** Every complete string of a text, unescaped, be the text JSON or what is left of it. */
export function readStrings(text: string): readonly string[] {
  return Array.from(text.matchAll(/"(?:[^"\\]|\\.)*"/gs), ([token]) => unescape(token))
}

/** The strings that stand as the value of a member of one of these names, anywhere in a text, be it JSON or not. */
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

/** What a quoted string says; an escape that JSON does not know stands for its character. */
function unescape(token: string): string {
  if (!token.includes('\\')) return token.slice(1, -1)
  return token
    .slice(1, -1)
    .replace(/\\(?:u([0-9a-fA-F]{4})|(.))/gs, (_, hex: string | undefined, letter: string) =>
      hex === undefined ? (short[letter] ?? letter) : String.fromCharCode(Number.parseInt(hex, 16)),
    )
}

/** What JSON.parse would make of a tree, if it were right about names with escapes (nodejs/node issue 63785). */
export function valueOf(tree: Tree): unknown {
  if (tree.kind === 'string') return tree.text
  if (tree.kind === 'scalar') return JSON.parse(tree.text)
  if (tree.kind === 'array') return tree.elements.map(valueOf)
  return Object.fromEntries(tree.members.map(([name, value]) => [name, valueOf(value)]))
}
