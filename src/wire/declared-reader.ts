import type { Declared, DeclaredModel, DeclaredTool, DeclaredWord, Meaning } from '../domain/index.ts'
import { elementDepth, ObjectReferences, type ReferenceRules } from './object-references.ts'

/** The names by which a reader finds declarations: `declarationRules` of the domain. */
type DeclarationRules = ReferenceRules & {
  readonly endings: readonly string[]
  wordOf(name: string): DeclaredWord
  readonly ownEnvironment: string
  /** Members that are skipped except for references. */
  readonly lookedInto: readonly string[]
}

/** The role of the next object, list or text. */
type Role =
  | 'open'
  | 'skipped'
  | 'tools'
  | 'toolsAlone'
  | 'plugins'
  | 'tool'
  | 'part'
  | 'choice'
  | 'field'
  | 'models'
  | 'fallbacks'
  | 'environment'
  | 'environmentType'
  | 'type'
  | 'partType'

/** The declaration of one tool, as far as it was read. */
type Tool = {
  readonly outer: Tool | undefined
  readonly kind: 'tool' | 'plugin' | 'choice'
  /** The values of its type. */
  readonly types: string[]
  isNamed: boolean
  isClient: boolean
  /** Members that are not known to belong to a client's tool: without a type they decide what the tool is. */
  readonly members: string[]
  /** Declarations inside it: they count if it turns out not to be the client's tool. */
  readonly parts: Found[]
}

type Found =
  | { readonly kind: 'tool'; readonly tool: DeclaredTool }
  | { readonly kind: 'model'; readonly model: DeclaredModel }

/** One open object or list. */
type Level = {
  role: Role
  isObject: boolean
  /** Positions of the current member's name, quotes included. */
  nameFrom: number
  nameEnd: number
  isEscaped: boolean
  index: number
  tool: Tool | undefined
  sink: Found[]
}

/** Longer texts cannot be a name. */
const textBytesMax = 256
/** No legitimate request has more than this. */
const foundMax = 4096

/** By the last two bytes of a name: the minimum length of a name with a meaning; 0 if there is none. */
type Endings = Uint8Array

/**
 * Finds the tools that a JSON text declares and the models that it refers to, at any depth, while another reader scans
 * the text: it gets every bracket, name and value once. Skips content that clients and their tools have written
 * (schemas, arguments, results). Classifies a tool at its end, because its type may come last: until then it keeps the
 * declarations inside it.
 */
export class DeclaredReader {
  readonly #rules: DeclarationRules
  readonly #endings: Endings
  readonly #objectEndings: Endings
  readonly #references: ObjectReferences
  readonly #tooMany: () => Error
  readonly #root: Found[] = []
  readonly #levels: Level[] = []
  #bytes: Buffer | undefined
  #depth = 0
  /** Non-zero inside a skipped value: the depth at which it began. */
  #skippedFrom = 0
  /** Whether the skipped value is searched for references, and which of its containers are objects. */
  #isLookedInto = false
  readonly #objects: boolean[] = []
  /** The role of the value of the last named member. */
  #next: Role = 'open'
  #found = 0

  /** @param tooMany the error for a text with too many declarations */
  constructor(rules: DeclarationRules, tooMany: () => Error) {
    this.#rules = rules
    this.#endings = endingsOf(rules.endings)
    this.#objectEndings = endingsOf(rules.objectEndings)
    this.#references = new ObjectReferences(rules, () => this.#field())
    this.#tooMany = tooMany
  }

  /** @param none the result if nothing was found, so that most requests need no object of their own */
  result(none: Declared): Declared {
    const { found: objects } = this.#references
    if (this.#root.length === 0 && objects.length === 0) return none
    const tools: DeclaredTool[] = []
    const models: DeclaredModel[] = []
    for (const one of this.#root) {
      if (one.kind === 'tool') tools.push(one.tool)
      else models.push(one.model)
    }
    return { tools, models, objects }
  }

  opened(isObject: boolean): void {
    const depth = ++this.#depth
    this.#objects[depth] = isObject
    if (this.#skippedFrom > 0) {
      if (this.#isLookedInto) this.#references.opened(isObject, depth)
      return
    }
    this.#references.opened(isObject, depth)
    const outer = this.#levels[depth - 1]
    const due = this.#value(outer)
    // A list of fields is one field: its elements are searched, and do not count themselves.
    const role = due === 'field' && outer?.isObject !== true ? 'open' : roleOf(due, isObject)
    if (due === 'type' && isObject) outer?.tool?.types.push('')
    if (role === 'skipped') {
      this.#skippedFrom = depth
      this.#isLookedInto = outer !== undefined && this.#rules.lookedInto.includes(this.#nameOf(outer))
      return
    }
    let level = this.#levels[depth]
    if (level) {
      level.role = role
      level.isObject = isObject
      level.index = -1
      level.tool = outer?.tool
      level.sink = outer?.sink ?? this.#root
    } else {
      level = {
        role,
        isObject,
        nameFrom: 0,
        nameEnd: 0,
        isEscaped: false,
        index: -1,
        tool: outer?.tool,
        sink: outer?.sink ?? this.#root,
      }
      this.#levels[depth] = level
    }
    if (role === 'tool' || role === 'choice') this.#beginTool(level, outer)
    else if (role === 'part' && level.tool && outer?.role === 'tool') level.sink = level.tool.parts
    else if (role === 'field' && isObject) {
      this.#addField(depth - 1)
      level.role = 'open'
    }
  }

  closed(): void {
    const depth = this.#depth--
    if (depth > 1 && (this.#skippedFrom === 0 || this.#isLookedInto)) this.#references.closed(depth)
    if (this.#skippedFrom > 0) {
      if (this.#skippedFrom === depth) this.#skippedFrom = 0
      return
    }
    const level = this.#levels[depth] as Level
    if (level.role === 'tool' || level.role === 'choice') this.#endTool(level, this.#levels[depth - 1])
    else if (level.role === 'field' && !level.isObject && level.index >= 0) this.#addField(depth - 1)
  }

  /** A member's name, from its opening quote to after the closing one. */
  named(bytes: Buffer, from: number, end: number, isEscaped: boolean): void {
    if (this.#skippedFrom > 0 && !this.#isLookedInto) return
    this.#nameReference(bytes, from, end, isEscaped)
    if (this.#skippedFrom > 0) return
    this.#bytes = bytes
    const level = this.#levels[this.#depth] as Level
    level.nameFrom = from
    level.nameEnd = end
    level.isEscaped = isEscaped
    if (level.role === 'tool' || level.role === 'choice') this.#next = this.#nameInTool(level)
    else if (level.role === 'environment') this.#next = this.#word().plain === 'type' ? 'environmentType' : 'part'
    else if (level.role === 'part') this.#next = this.#nameInPart(level)
    else {
      // The end of most names shows that they have no meaning.
      const least = this.#endings[((bytes[end - 3] as number) << 8) | (bytes[end - 2] as number)] as number
      const isPassed = !isEscaped && (least === 0 || end - from - 2 < least)
      this.#next = isPassed ? 'open' : this.#nameOutside()
    }
  }

  /** A text as a value, from its opening quote to after the closing one. */
  text(bytes: Buffer, from: number, end: number, isEscaped: boolean): void {
    if (this.#skippedFrom > 0 && !this.#isLookedInto) return
    const isMember = this.#objects[this.#depth] === true
    if (this.#references.wants(this.#depth, isMember))
      this.#refer(readText(bytes, from, end, isEscaped, Infinity), isMember)
    if (this.#skippedFrom > 0) return
    const level = this.#levels[this.#depth] as Level
    const role = this.#value(level)
    if (role === 'open' || role === 'part' || role === 'skipped' || role === 'tools' || role === 'tool') return
    this.#textIn(level, role, readText(bytes, from, end, isEscaped))
  }

  /** A number or a word as a value, by its first byte. */
  scalar(first: number): void {
    if (this.#skippedFrom > 0) return
    const level = this.#levels[this.#depth] as Level
    const role = this.#value(level)
    if (first === 0x6e || first === 0x66) return
    if (role === 'field' && level.isObject) this.#addField(this.#depth)
    else if (role === 'type' && level.tool) level.tool.types.push('')
  }

  #refer(text: string, isMember: boolean): void {
    this.#references.text(text, isMember)
    if (this.#references.found.length > foundMax) throw this.#tooMany()
  }

  /** The current top-level field. */
  #field(): string {
    const top = this.#levels[1]
    return top?.isObject ? this.#nameOf(top) : ''
  }

  #nameReference(bytes: Buffer, from: number, end: number, isEscaped: boolean): void {
    const length = end - from - 2
    const least = this.#objectEndings[((bytes[end - 3] as number) << 8) | (bytes[end - 2] as number)] as number
    const isRead = isEscaped || (least > 0 && length >= least) || this.#references.isInside
    if (isRead) this.#references.named(readText(bytes, from, end, isEscaped), this.#depth)
    // Most elements have these members, and most of them are no references: their names need no decoding.
    else if (this.#depth === elementDepth && isIdName(bytes, from, length)) this.#references.member('id')
    else if (this.#depth === elementDepth && isTypeName(bytes, from, length)) this.#references.member('type')
    else if (this.#depth === elementDepth && isRoleName(bytes, from, length)) this.#references.member('role')
    else this.#references.passed()
  }

  /** The role of the next value in the open container. */
  #value(level: Level | undefined): Role {
    if (!level) return 'open'
    if (level.isObject) return this.#next
    level.index++
    return level.role
  }

  #nameOutside(): Role {
    const word = this.#word()
    const meaning = this.#depth === 1 ? word.atTop : word.within
    if (meaning === 'payload') return 'skipped'
    return meaning === 'nothing' || meaning === 'environment' ? 'open' : meaning
  }

  #nameInPart(level: Level): Role {
    const { within: meaning, plain, draws } = this.#word()
    if (isDeclaring(meaning) && meaning !== 'environment') return meaning
    if (plain === 'type') return 'partType'
    if (draws) this.#addPart(level, this.#name())
    return 'part'
  }

  #nameInTool({ tool }: Level): Role {
    const { kind, types, members, isClient } = tool as Tool
    const { plain, ofTool: meaning, isChoice, isClientTool } = this.#word()
    if (plain === 'type' || (kind === 'plugin' && plain === 'id')) return 'type'
    if (plain === 'name') {
      ;(tool as Tool).isNamed = true
      return 'part'
    }
    if (isDeclaring(meaning)) return meaning
    const isOwn = kind === 'choice' ? isChoice : isClientTool
    if (!isOwn && members.length < foundMax) members.push(this.#name())
    // The parameters of a client's tool are its own, whatever their names.
    const isPassed = isClient || (types.length === 0 && isOwn) || meaning === 'payload'
    return kind === 'tool' && isPassed ? 'skipped' : 'part'
  }

  #textIn(level: Level, role: Role, text: string): void {
    const { tool } = level
    switch (role) {
      case 'type':
        if (tool) this.#takeType(tool, text)
        break
      case 'partType':
        if (this.#rules.wordOf(text).draws) this.#addPart(level, text)
        break
      case 'toolsAlone':
      case 'plugins':
        if (!this.#rules.wordOf(text).isClientTool) this.#addTool(level, text)
        break
      case 'choice':
        if (!this.#rules.wordOf(text).isChoice) this.#addTool(level, text)
        break
      case 'environmentType':
        if (text !== this.#rules.ownEnvironment) this.#addTool(level, text)
        break
      case 'models':
      case 'fallbacks':
        if (text !== '') this.#addModel(level, role, text)
        break
      case 'field':
        // A list of tools is one field, and is complete at its end.
        if (level.isObject) this.#addField(this.#depth)
        break
      default:
    }
  }

  #beginTool(level: Level, outer: Level | undefined): void {
    const isPlugin = this.#roleBefore(outer) === 'plugins'
    level.tool = {
      outer: outer?.tool,
      kind: level.role === 'choice' ? 'choice' : isPlugin ? 'plugin' : 'tool',
      types: [],
      isNamed: false,
      isClient: false,
      members: [],
      parts: [],
    }
  }

  #roleBefore(outer: Level | undefined): Role {
    return outer?.isObject ? this.#next : (outer?.role ?? 'open')
  }

  #takeType(tool: Tool, text: string): void {
    tool.types.push(text)
    const { isChoice, isClientTool } = this.#rules.wordOf(text)
    const isOwn = tool.kind === 'choice' ? isChoice : isClientTool
    tool.isClient = tool.kind !== 'plugin' && isOwn && tool.types.length === 1
  }

  #endTool(level: Level, outer: Level | undefined): void {
    const { types, isNamed, isClient, members, parts, kind } = level.tool as Tool
    const sink = outer?.sink ?? this.#root
    const isTyped = types.length > 0
    const isOwn = isTyped ? isClient : kind !== 'plugin' && (isNamed || members.length === 0)
    const isKind = !isTyped && !isOwn && kind !== 'plugin'
    for (const name of members) {
      // A tool whose type shows that it is the client's may still refer to one that creates pictures.
      const isPart = !isKind
      if (isPart && !this.#rules.wordOf(name).draws) continue
      this.#add(sink, this.#toolOf(name, `${this.#place(this.#depth)}.${name}`, { ...(isPart && { isPart }) }))
    }
    if (isOwn) {
      this.#found -= parts.length
      return
    }
    const place = this.#place(this.#depth)
    const typePlace = `${place}.${kind === 'plugin' ? 'id' : 'type'}`
    if (types.length > 1) this.#add(sink, this.#toolOf(types.join(' and '), typePlace, { isDoubled: true }))
    for (const type of types) this.#add(sink, this.#toolOf(type, typePlace))
    if (!isTyped && kind === 'plugin') this.#add(sink, this.#toolOf('plugins', place))
    for (const part of parts) sink.push(part)
  }

  #addTool(level: Level, name: string): void {
    this.#add(level.sink, this.#toolOf(name, this.#place(this.#depth)))
  }

  #addPart(level: Level, name: string): void {
    this.#add(level.sink, this.#toolOf(name, this.#place(this.#depth), { isPart: true }))
  }

  /** Adds a top-level field whose presence alone declares a tool. */
  #addField(depth: number): void {
    const level = this.#levels[depth] as Level
    const place = this.#place(depth)
    this.#add(level.sink, this.#toolOf(this.#nameOf(level), place))
  }

  #addModel(level: Level, role: Role, name: string): void {
    const path = this.#path(this.#depth)
    const runs = role === 'fallbacks' ? 'instead' : 'beside'
    this.#add(level.sink, { kind: 'model', model: { name, path, place: writePlace(path), runs } })
  }

  #toolOf(name: string, place: string, more: Pick<DeclaredTool, 'isPart' | 'isDoubled'> = {}): Found {
    const { draws } = this.#rules.wordOf(name)
    const field = this.#nameOf(this.#levels[1] as Level)
    return { kind: 'tool', tool: { name, place, field, draws, ...more } }
  }

  #add(sink: Found[], found: Found): void {
    if (++this.#found > foundMax) throw this.#tooMany()
    sink.push(found)
  }

  #word(): DeclaredWord {
    return this.#rules.wordOf(this.#name())
  }

  #name(): string {
    return this.#nameOf(this.#levels[this.#depth] as Level)
  }

  #nameOf({ nameFrom, nameEnd, isEscaped }: Level): string {
    return this.#bytes ? readText(this.#bytes, nameFrom, nameEnd, isEscaped) : ''
  }

  #place(depth: number): string {
    return writePlace(this.#path(depth))
  }

  #path(depth: number): (string | number)[] {
    const path: (string | number)[] = []
    for (let at = 1; at <= depth; at++) {
      const level = this.#levels[at] as Level
      path.push(level.isObject ? this.#nameOf(level) : level.index)
    }
    return path
  }
}

function isIdName(bytes: Buffer, from: number, length: number): boolean {
  return length === 2 && bytes[from + 1] === 0x69 && bytes[from + 2] === 0x64
}

function isTypeName(bytes: Buffer, from: number, length: number): boolean {
  if (length !== 4 || bytes[from + 1] !== 0x74 || bytes[from + 2] !== 0x79) return false
  return bytes[from + 3] === 0x70 && bytes[from + 4] === 0x65
}

function isRoleName(bytes: Buffer, from: number, length: number): boolean {
  if (length !== 4 || bytes[from + 1] !== 0x72 || bytes[from + 2] !== 0x6f) return false
  return bytes[from + 3] === 0x6c && bytes[from + 4] === 0x65
}

/** Whether a member of a tool declares a tool itself, or refers to others. */
function isDeclaring(meaning: Meaning): meaning is Exclude<Meaning, 'nothing' | 'payload' | 'field'> {
  return meaning !== 'nothing' && meaning !== 'payload' && meaning !== 'field'
}

const endingsKnown = new WeakMap<readonly string[], Endings>()

function endingsOf(words: readonly string[]): Endings {
  const known = endingsKnown.get(words)
  if (known) return known
  const table = new Uint8Array(65_536)
  for (let last = 0; last < 256; last++)
    for (let before = 0; before < 256; before++)
      // An upstream may ignore characters other than letters and digits: such names are examined.
      if (!isPlain(last) || !isPlain(before)) table[(before << 8) | last] = 1
  for (const word of words)
    for (const before of casesOf(word.at(-2)))
      for (const last of casesOf(word.at(-1))) {
        const at = (before << 8) | last
        table[at] = Math.min(table[at] || word.length, word.length)
      }
  endingsKnown.set(words, table)
  return table
}

function isPlain(byte: number): boolean {
  return (byte >= 0x30 && byte <= 0x39) || (byte >= 0x41 && byte <= 0x5a) || (byte >= 0x61 && byte <= 0x7a)
}

function casesOf(letter = ''): readonly number[] {
  return [letter.toLowerCase().charCodeAt(0), letter.toUpperCase().charCodeAt(0)]
}

/** The role of an object or a list in place of a value with this role. */
function roleOf(role: Role, isObject: boolean): Role {
  switch (role) {
    case 'tools':
    case 'toolsAlone':
    case 'plugins':
      return isObject ? 'tool' : role
    case 'models':
    case 'fallbacks':
      return isObject ? 'open' : role
    case 'choice':
      return isObject ? 'choice' : 'tools'
    case 'environment':
      return isObject ? 'environment' : 'part'
    case 'type':
    case 'partType':
      return isObject ? 'part' : role
    case 'environmentType':
      return 'part'
    default:
      return role
  }
}

function readText(bytes: Buffer, from: number, end: number, isEscaped: boolean, bytesMax = textBytesMax): string {
  const isLong = end - from > bytesMax
  if (!isLong && isEscaped) return JSON.parse(bytes.toString('utf8', from, end)) as string
  const text = bytes.toString('utf8', from + 1, isLong ? from + bytesMax : end - 1)
  return isLong ? `${text}…` : text
}

function writePlace(path: readonly (string | number)[]): string {
  let place = ''
  for (const one of path) place += typeof one === 'number' ? `[${one}]` : `${place === '' ? '' : '.'}${one}`
  return place.length > 200 ? `${place.slice(0, 200)}…` : place
}
