import { hash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'

// The part of Helm's templates that the chart of deploy/helm uses. It refuses anything else, so that a template which
// goes beyond it fails here and not in a user's cluster.

type Value = unknown
type Scope = { readonly dot: Value; readonly root: Value; readonly variables: Map<string, Value> }
type Piece =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'show'; readonly words: readonly string[] }
  | { readonly kind: 'let'; readonly name: string; readonly words: readonly string[] }
  | {
      readonly kind: 'if' | 'with' | 'range'
      readonly words: readonly string[]
      readonly body: readonly Piece[]
      readonly otherwise: readonly Piece[]
    }

/** Renders every template of a chart. @returns the texts by file name @throws Error with the message of `fail` */
export async function renderChart(
  folder: string,
  more: object = {},
  release = 'tollgate',
): Promise<ReadonlyMap<string, string>> {
  const read = (name: string) => readFile(join(folder, name), 'utf8')
  const own = (await readdir(folder)).filter(name => name.endsWith('.yaml'))
  const files = new Map(await Promise.all(own.map(async name => [name, await read(name)] as const)))
  const chart = parse(files.get('Chart.yaml') ?? '') as { name: string; version: string; appVersion: string }
  const root = {
    Values: lay(parse(files.get('values.yaml') ?? ''), more),
    Chart: { Name: chart.name, Version: chart.version, AppVersion: chart.appVersion },
    Release: { Name: release, Namespace: 'default', Service: 'Helm' },
    Files: { Get: (name: string) => files.get(name) ?? '' },
  }
  const renderer = new Renderer(root)
  const names = (await readdir(join(folder, 'templates'))).toSorted()
  const texts = await Promise.all(names.map(async name => [name, await read(`templates/${name}`)] as const))
  const parsed = texts.map(([name, text]) => [name, renderer.parse(name, text)] as const)
  return new Map(
    parsed.filter(([name]) => !name.startsWith('_')).map(([name, pieces]) => [name, renderer.render(pieces)] as const),
  )
}

/** Merges values: mappings are merged, other values are replaced. */
function lay(under: Value, over: Value): Value {
  if (!isMap(under) || !isMap(over)) return over === undefined ? under : over
  const names = [...new Set([...Object.keys(under), ...Object.keys(over)])]
  return Object.fromEntries(names.map(name => [name, lay(under[name], over[name])]))
}

function isMap(value: Value): value is { readonly [name: string]: Value } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

class Renderer {
  readonly #root: Value
  readonly #defined = new Map<string, readonly Piece[]>()

  constructor(root: Value) {
    this.#root = root
  }

  parse(name: string, text: string): readonly Piece[] {
    const tokens = cut(text)
    const pieces = this.#parseUntil(tokens)
    if (tokens.length > 0) throw new Error(`${name}: ${tokens[0]?.text} ends nothing`)
    return pieces
  }

  render(pieces: readonly Piece[], dot: Value = this.#root): string {
    return this.#write(pieces, { dot, root: this.#root, variables: new Map() })
  }

  /** Parses tokens up to the matching `end` or `else`, which stays. */
  #parseUntil(tokens: Token[]): readonly Piece[] {
    const pieces: Piece[] = []
    for (;;) {
      const [token] = tokens
      if (token === undefined || (token.kind === 'action' && /^(?:end|else)\b/.test(token.text))) return pieces
      tokens.shift()
      if (token.kind === 'text') pieces.push({ kind: 'text', text: token.text })
      else {
        const [word = '', ...rest] = split(token.text)
        if (word === 'define') {
          this.#defined.set(unquote(rest[0] ?? ''), this.#parseUntil(tokens))
          expectEnd(tokens)
        } else if (word === 'if' || word === 'with' || word === 'range') {
          const body = this.#parseUntil(tokens)
          const otherwise = tokens[0]?.text === 'else' ? (tokens.shift(), this.#parseUntil(tokens)) : []
          expectEnd(tokens)
          pieces.push({ kind: word, words: rest, body, otherwise })
        } else if (rest[0] === ':=') pieces.push({ kind: 'let', name: word, words: rest.slice(1) })
        else pieces.push({ kind: 'show', words: [word, ...rest] })
      }
    }
  }

  #write(pieces: readonly Piece[], scope: Scope): string {
    let text = ''
    for (const piece of pieces) {
      if (piece.kind === 'text') text += piece.text
      else {
        const value = this.#pipe([...piece.words], scope)
        if (piece.kind === 'let') scope.variables.set(piece.name, value)
        else if (piece.kind === 'show') text += say(value)
        else if (piece.kind === 'range')
          text += ((value as readonly Value[] | undefined) ?? [])
            .map(dot => this.#write(piece.body, { ...scope, dot }))
            .join('')
        else if (isTrue(value))
          text += this.#write(piece.body, piece.kind === 'with' ? { ...scope, dot: value } : scope)
        else text += this.#write(piece.otherwise, scope)
      }
    }
    return text
  }

  /** A pipeline of commands: each gets the previous result as its last argument. */
  #pipe(words: string[], scope: Scope): Value {
    let value: Value
    let isFirst = true
    for (;;) {
      const given: Value[] = []
      const [head = ''] = words
      while (words.length > 0 && words[0] !== '|' && words[0] !== ')') given.push(this.#operand(words, scope))
      if (!isFirst) given.push(value)
      value = this.#call(head, given)
      isFirst = false
      if (words[0] !== '|') return value
      words.shift()
    }
  }

  #call(head: string, [first, ...rest]: readonly Value[]): Value {
    if (typeof first === 'function') return (first as (...given: readonly Value[]) => Value)(...rest)
    if (rest.length > 0) throw new Error(`${head} takes nothing`)
    return first
  }

  #operand(words: string[], scope: Scope): Value {
    const word = words.shift() ?? ''
    if (word === '(') {
      const value = this.#pipe(words, scope)
      if (words.shift() !== ')') throw new Error('a bracket is not closed')
      return value
    }
    if (word.startsWith('"')) return unquote(word)
    if (/^\d+$/.test(word)) return Number(word)
    if (word === 'true' || word === 'false') return word === 'true'
    if (word === 'include') return (name: string, dot: Value) => this.render(this.#find(name), dot)
    if (Object.hasOwn(functions, word)) return functions[word]
    const [name = '', ...path] = word.split('.')
    if (name.startsWith('$') && name !== '$' && !scope.variables.has(name)) throw new Error(`${name} is not set`)
    if (!/^\$?\w*$/.test(name) || (name !== '' && !name.startsWith('$'))) throw new Error(`what is ${word}?`)
    const from = name === '' ? scope.dot : name === '$' ? scope.root : scope.variables.get(name)
    return path.filter(key => key !== '').reduce((at: Value, key) => (isMap(at) ? at[key] : undefined), from)
  }

  #find(name: string): readonly Piece[] {
    const found = this.#defined.get(name)
    if (!found) throw new Error(`nothing is defined as ${name}`)
    return found
  }
}

const functions: { readonly [name: string]: (...given: never[]) => Value } = {
  toYaml: (value: Value) => stringify(value, { lineWidth: 0 }).trimEnd(),
  nindent: (by: number, text: string) => `\n${text.replaceAll(/^/gm, ' '.repeat(by))}`,
  quote: (value: Value) => JSON.stringify(say(value)),
  default: (otherwise: Value, value: Value) => (isTrue(value) ? value : otherwise),
  eq: (one: Value, other: Value) => one === other,
  gt: (one: number, other: number) => one > other,
  int: (value: Value) => Math.trunc(Number(value)),
  add: (...numbers: number[]) => numbers.reduce((sum, one) => sum + one, 0),
  and: (...values: Value[]) => values.find(value => !isTrue(value)) ?? values.at(-1),
  or: (...values: Value[]) => values.find(isTrue) ?? values.at(-1),
  not: (value: Value) => !isTrue(value),
  printf: (format: string, ...values: Value[]) =>
    values.reduce((text: string, one) => text.replace('%s', say(one)), format),
  sha256sum: (text: string) => hash('sha256', text, 'hex'),
  fail(text: string) {
    throw new Error(text)
  },
}

function isTrue(value: Value): boolean {
  if (Array.isArray(value)) return value.length > 0
  return isMap(value) ? Object.keys(value).length > 0 : Boolean(value)
}

function say(value: Value): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'boolean') return `${value}`
  throw new Error(`shown as it is: ${JSON.stringify(value)}`)
}

type Token = { readonly kind: 'text' | 'action'; readonly text: string }

/** Text and actions in order; a dash removes the white space on its side. */
function cut(text: string): Token[] {
  const tokens: Token[] = []
  let at = 0
  for (const match of text.matchAll(/\{\{(-?)\s*([^]*?)\s*(-?)\}\}/g)) {
    const [whole, before, action = '', after] = match
    const lead = text.slice(at, match.index)
    tokens.push({ kind: 'text', text: before === '-' ? lead.trimEnd() : lead }, { kind: 'action', text: action })
    at = match.index + whole.length
    if (after === '-') at += /^\s*/.exec(text.slice(at))?.[0].length ?? 0
  }
  return [...tokens, { kind: 'text', text: text.slice(at) }]
}

function split(action: string): string[] {
  return action.match(/"(?:[^"\\]|\\.)*"|[()|]|[^\s()|]+/g) ?? []
}

function unquote(word: string): string {
  return JSON.parse(word) as string
}

function expectEnd(tokens: Token[]): void {
  if (tokens.shift()?.text !== 'end') throw new Error('an end is missing')
}
