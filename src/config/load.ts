import {
  type Document,
  type DocumentOptions,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  type Node,
  type Pair,
  type ParseOptions,
  parseDocument,
  type SchemaOptions,
} from 'yaml'
import { deeperLine, isIndentation, unevenRemedy } from './indentation.ts'
import type { PlacedDiagnostic } from './report.ts'
import type { Entry, MapTree, Path, ScalarTree, Span, Tree } from './tree.ts'

export type ReadResult = {
  /** Undefined if the text is not YAML or is empty. */
  readonly root: Tree | undefined
  readonly diagnostics: readonly PlacedDiagnostic[]
  /** The places of values that the tree does not contain. */
  readonly hidden?: readonly Span[]
}

const whole: Span = { start: 0, end: 1 }
const faultsMax = 20
/** The maximum depth of lists and mappings; a configuration has fewer than twenty levels. Deeper ones are not read. */
const depthMax = 100
const tooDeep = {
  code: 'yaml_deep',
  message: `lists and mappings are nested more than ${depthMax} levels deep`,
  remedy: 'look for repeated brackets, colons or dashes here, and remove them',
}

const notText = { code: 'file_encoding', message: 'the file is not text in UTF-8', remedy: 'save it as UTF-8' }

const tooManyAliases = {
  code: 'yaml_aliases',
  message: 'its aliases expand to too many values',
  remedy: 'write the values in each place where they are used',
}

/**
 * Reads YAML 1.2 (core schema) into a tree with places. Reports, each at its place: syntax errors, several documents,
 * duplicate keys, keys other than plain text, tags, anchors, aliases and merge keys. Without aliases and merge keys,
 * each price is on its own line.
 */
export function readYaml(text: string): ReadResult {
  // Each second byte of UTF-16 is one.
  const nul = text.indexOf('\0')
  if (nul !== -1) {
    return { root: undefined, diagnostics: [{ ...notText, path: [], span: { start: nul, end: nul + 1 } }] }
  }
  const document = parse(text, { merge: false, uniqueKeys: false })
  const syntax = document ? syntaxDiagnostics(document, text) : [{ ...tooDeep, path: [], span: whole }]
  if (!document || syntax.length > 0) return { root: undefined, diagnostics: syntax }
  if (document.contents === null || (isScalar(document.contents) && document.contents.value === null)) {
    const remedy = 'write at least `version: 1`, groups, upstreams, pipeline, families, models and routes'
    return {
      root: undefined,
      diagnostics: [{ code: 'file_empty', path: [], span: whole, message: 'the file is empty', remedy }],
    }
  }
  const reader = new Reader(text)
  const root = reader.convert(document.contents, [])
  return { root, diagnostics: reader.diagnostics, hidden: reader.hidden }
}

/** The readable part of a text with syntax errors; undefined if there is none. */
export function readBroken(text: string): Tree | undefined {
  const document = parse(text, { merge: false, uniqueKeys: false })
  return document?.contents ? new Reader(text).convert(document.contents, []) : undefined
}

/** The plain value of a foreign file, with aliases and merge keys; undefined if there are diagnostics. */
export function readForeignYaml(text: string): {
  readonly value: unknown
  readonly diagnostics: readonly PlacedDiagnostic[]
} {
  const document = parse(text, { merge: true })
  if (!document) return { value: undefined, diagnostics: [{ ...tooDeep, path: [], span: whole }] }
  const diagnostics = syntaxDiagnostics(document, text)
  if (diagnostics.length > 0) return { value: undefined, diagnostics }
  try {
    return { value: document.toJS({ maxAliasCount: 100 }), diagnostics }
  } catch (error) {
    if (!(error instanceof ReferenceError)) throw error
    return { value: undefined, diagnostics: [{ ...tooManyAliases, path: [], span: whole }] }
  }
}

/** The comments of a text, in their order. */
export function readComments(text: string): readonly string[] {
  const comments: string[] = []
  let before = ''
  for (const token of new Lexer().lex(text)) {
    // The parser returns a text that begins with `#` as a scalar.
    if (token.startsWith('#') && before !== '\u001F') comments.push(token)
    before = token
  }
  return comments
}

/** Undefined for a text that is nested so deeply that the package overflows the stack. */
function parse(text: string, options: ParseOptions & DocumentOptions & SchemaOptions): Document.Parsed | undefined {
  try {
    return parseDocument(text, { version: '1.2', prettyErrors: false, ...options })
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

/** The first diagnostic of each line, without diagnostics that only follow from an earlier one. */
function syntaxDiagnostics(document: Document.Parsed, text: string): PlacedDiagnostic[] {
  const diagnostics: PlacedDiagnostic[] = []
  const lines = new Set<number>()
  for (const { code, pos, message } of [...document.errors, ...document.warnings]) {
    const lineStart = text.lastIndexOf('\n', pos[0] - 1) + 1
    const follows = diagnostics.length > 0 && message.includes(' in YAML stream')
    if (follows || lines.has(lineStart) || diagnostics.length === faultsMax) continue
    lines.add(lineStart)
    if (code === 'RESOURCE_EXHAUSTION') return [{ ...tooDeep, path: [], span: { start: pos[0], end: pos[1] } }]
    const line = /^.*/.exec(text.slice(lineStart))?.[0] ?? ''
    const isUneven = code === 'BAD_INDENT' && message.startsWith('All ')
    const remedy = isUneven ? unevenRemedy(text, lineStart) : syntaxRemedy(code, message, line)
    const deeper = isIndentation(code) ? deeperLine(text, pos[0]) : undefined
    if (deeper) {
      diagnostics.push({ code: 'yaml_syntax', path: [], ...deeper })
      continue
    }
    const span = isUneven
      ? { start: lineStart + line.search(/\S|$/), end: lineStart + line.length }
      : { start: pos[0], end: pos[1] }
    const kind = code === 'TAG_RESOLVE_FAILED' ? 'yaml_tag' : 'yaml_syntax'
    diagnostics.push({ code: kind, path: [], span, message: syntaxMessage(code, message), ...(remedy && { remedy }) })
  }
  if (diagnostics.length === 0 && document.directives.yaml.version !== '1.2') {
    const message = `found YAML ${document.directives.yaml.version}; only 1.2 is supported`
    diagnostics.push({ code: 'yaml_syntax', path: [], span: whole, message, remedy: 'remove the %YAML line' })
  }
  return diagnostics
}

/** The parser's message without quotes from the file, which may be secrets. */
function syntaxMessage(code: string, message: string): string {
  if (code === 'MULTIPLE_DOCS') return 'found a second document'
  const words = message.replace(/(?: in YAML stream)?: ".*$/s, '').replace(/"quote$/, 'quote')
  return `not YAML: ${words.charAt(0).toLowerCase()}${words.slice(1)}`
}

function syntaxRemedy(code: string, message: string, line: string): string | undefined {
  if (code === 'TAB_AS_INDENT') return 'indent with spaces'
  if (code === 'MISSING_CHAR' && message.includes('quote')) return 'close the quote'
  if (message.startsWith('Flow ')) return 'close the { or [ that is open here'
  if (code === 'MULTIPLE_DOCS') return 'keep one document: remove the `---` line'
  if (code === 'TAG_RESOLVE_FAILED') return 'remove the tag; the key determines the type of its value'
  if (code === 'BAD_SCALAR_START') return 'quote a value that starts with a special character'
  if (code === 'BLOCK_AS_IMPLICIT_KEY') return 'quote a value that contains a colon and a space'
  if (code !== 'UNEXPECTED_TOKEN') return undefined
  return hasBareBraces(line) ? 'inside { }, quote a value that contains braces' : undefined
}

/** Whether an unquoted value after a name contains a brace. */
function hasBareBraces(line: string): boolean {
  return [...line.matchAll(/[{,]([^{},"']*)(?=\{)/g)].some(([, words = '']) => /:\s+\S/.test(words))
}

function spanOf(node: Node): Span {
  const [start, end] = node.range ?? [0, 0]
  return { start, end }
}

type YamlPair = Pair<Node | null, Node | null>
type Refused = { readonly code: string; readonly span: Span; readonly message: string; readonly remedy: string }

/** Converts the package's nodes to those of `tree.ts`, and reports nodes that the gateway does not read. */
class Reader {
  readonly diagnostics: PlacedDiagnostic[] = []
  /** Values that the tree does not contain, such as those of duplicate keys: they may be secret. */
  readonly hidden: Span[] = []
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  convert(node: Node | null, path: Path): Tree {
    if (node === null) return scalar(whole, null, true)
    const span = spanOf(node)
    const refused = this.#refuse(node)
    if (refused) this.diagnostics.push({ ...refused, path })
    if (path.length > depthMax) {
      this.diagnostics.push({ ...tooDeep, path, span })
      return scalar(span, null, true)
    }
    if (isMap(node)) return this.#convertMap(node.items as YamlPair[], span, path)
    if (isSeq(node)) {
      const elements = node.items.map((element, i) => this.convert(element as Node | null, [...path, i]))
      return { kind: 'list', span, elements }
    }
    if (!isScalar(node)) return scalar(span, null, true)
    const plain = node.type === 'PLAIN'
    return scalar(span, node.value as ScalarTree['value'], refused !== undefined, plain)
  }

  #convertMap(pairs: readonly YamlPair[], span: Span, path: Path): MapTree {
    const entries: Entry[] = []
    const seen = new Set<string>()
    let unknown = false
    for (const { key: keyNode, value } of pairs) {
      const keySpan = keyNode ? spanOf(keyNode) : { start: span.start, end: span.start + 1 }
      const key = keyNode ? keyText(keyNode) : undefined
      const refused = keyNode ? this.#refuse(keyNode) : undefined
      const diagnostic = refused ?? (key === undefined ? keyDiagnostics.text : keyFault(key, seen))
      if (diagnostic)
        this.diagnostics.push({ span: keySpan, ...diagnostic, path: key === undefined ? path : [...path, key] })
      const isRead = !diagnostic || diagnostic === keyDiagnostics.reference
      if (isRead && key !== undefined) entries.push({ key, keySpan, value: this.convert(value, [...path, key]) })
      else if (value) this.hidden.push(spanOf(value))
      unknown ||= refused !== undefined || key === undefined || key === '<<'
      if (key !== undefined) seen.add(key)
    }
    return { kind: 'map', span, entries, unknown }
  }

  #refuse(node: Node): Refused | undefined {
    const span = spanOf(node)
    const remedy = 'write the value in each place where it is used'
    if (isAlias(node)) {
      return {
        code: 'yaml_alias',
        span,
        message: `found the alias '*${node.source}'; aliases are not supported`,
        remedy,
      }
    }
    if (node.anchor !== undefined) {
      const start = this.#text.lastIndexOf(`&${node.anchor}`, span.start)
      const at = { start, end: start + node.anchor.length + 1 }
      return {
        code: 'yaml_anchor',
        span: at,
        message: `found the anchor '&${node.anchor}'; anchors are not supported`,
        remedy,
      }
    }
    if (node.tag === undefined) return undefined
    const start = this.#text.lastIndexOf('!', span.start)
    const at = { start: this.#text[start - 1] === '!' ? start - 1 : start, end: span.start }
    return { code: 'yaml_tag', span: at, message: 'found a tag; tags are not supported', remedy: 'remove the tag' }
  }
}

const keyDiagnostics = {
  text: { code: 'key_not_text', message: 'found a key that is not a name', remedy: 'add a name before the colon' },
  merge: {
    code: 'yaml_merge',
    message: "found the merge key '<<'; merge keys are not supported",
    remedy: 'write the values in each place where they are used',
  },
  reserved: { code: 'key_reserved', message: "'__proto__' cannot be a name", remedy: 'choose another name' },
  reference: {
    code: 'reference_in_key',
    message: 'found a reference in a key; only values may contain references',
    remedy: 'write the name itself',
  },
} as const

function keyFault(key: string, seen: ReadonlySet<string>) {
  if (key === '<<') return keyDiagnostics.merge
  if (key === '__proto__') return keyDiagnostics.reserved
  if (seen.has(key))
    return { code: 'duplicate_key', message: `'${key}' is set twice here`, remedy: 'keep one of the two' }
  return key.includes('${') ? keyDiagnostics.reference : undefined
}

/** `1: …` and `true: …` are names too, in their original spelling. */
function keyText(key: Node): string | undefined {
  if (!isScalar(key) || key.value === null) return undefined
  return typeof key.value === 'string' ? key.value : key.source
}

function scalar(span: Span, value: ScalarTree['value'], unknown: boolean, plain = true): ScalarTree {
  return { kind: 'scalar', span, value, plain, secret: false, filled: false, unknown }
}
