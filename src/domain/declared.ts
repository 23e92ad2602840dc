import { serves } from './model-names.ts'
import {
  holdsId,
  isTopReference,
  itemReference,
  objectIdOf,
  type ObjectKind,
  type ObjectReference,
  referenceEndings,
  referenceOf,
} from './stored-objects.ts'

/** A tool of a request that the client does not run itself, as far as its declaration shows. */
export type DeclaredTool = {
  /** As it was sent, shortened: `web_search_20250305`, `googleSearch`. */
  readonly name: string
  /** `tools[0].parameters.tools[1].type` */
  readonly place: string
  /** The field at the top of the body that contains it. */
  readonly field: string
  readonly draws: boolean
  /** It is within the declaration of another tool, which is judged by its own name. */
  readonly isPart?: true
  /** Its kind is declared twice: upstreams differ over which counts. */
  readonly isDoubled?: true
}

/** A model that a request names anywhere but in its own field `model`. */
export type DeclaredModel = {
  readonly name: string
  readonly place: string
  /** Names and indexes that lead there; the first is the field at the top. */
  readonly path: readonly (string | number)[]
  readonly runs: 'instead' | 'beside'
}

/** The tools, further models and stored objects that a body names, at any depth; read while the body is scanned. */
export type Declared = {
  readonly tools: readonly DeclaredTool[]
  readonly models: readonly DeclaredModel[]
  readonly objects: readonly ObjectReference[]
}

/**
 * What a member of a request means by its name: tools (`toolsAlone` where texts are tools too), tools that say by `id` what
 * they are, the choice of one, a field that is a tool by being there, names of models, where a tool runs, or what is not looked into.
 */
export type Meaning =
  | 'nothing'
  | 'tools'
  | 'toolsAlone'
  | 'plugins'
  | 'choice'
  | 'field'
  | 'models'
  | 'fallbacks'
  | 'environment'
  | 'payload'

export const nothingDeclared: Declared = { tools: [], models: [], objects: [] }

/**
 * By which members requests of all API formats declare tools and name models: all in one table, since an upstream may read more
 * formats than that of its path. Names are compared as `plainName` writes them, but for payloads, whose names are written exactly so.
 */
const words = {
  /** Members whose name ends so have tools for values. */
  tools: 'tools',
  /** … but for these: names of a server's tools, or of tools that are declared elsewhere. */
  toolNames: ['allowedtools', 'enabledtools', 'disabledtools', 'excludedtools'],
  /** Tools that declare their kind by `id`. */
  plugins: 'plugins',
  choice: 'toolchoice',
  /** Fields at the top of a body each of which is a tool. */
  fields: ['websearchoptions', 'mcpservers', 'searchparameters', 'enablesearch', 'connectors'],
  /** Members whose texts name models end so. */
  models: ['model', 'models', 'modelname', 'modelnames', 'modelid', 'modelids', 'fallbacks'],
  /** Those of them that answer when the first does not. */
  fallbacks: ['fallbacks', 'fallbackmodel', 'fallbackmodels'],
  environment: 'environment',
  /** What clients and their tools have written: schemas, arguments, results, labels. */
  payloads: new Set([
    'properties',
    'patternProperties',
    '$defs',
    'definitions',
    'schema',
    'json_schema',
    'responseSchema',
    'response_schema',
    'responseJsonSchema',
    'response_json_schema',
    'parametersJsonSchema',
    'input',
    'args',
    'arguments',
    'response',
    'output',
    'variables',
    'attributes',
    'documents',
    'labels',
  ]),
  /** Those of them that may be a field at the top of a body. */
  payloadFields: new Set(['documents', 'functions', 'labels']),
  metadata: 'metadata',
  /** The schema of a client's tool, in declarations that need no type. */
  toolSchemas: new Set(['input_schema', 'inputSchema']),
} as const

/** How a member of a request of this name ends, where its name means anything: what ends otherwise need not be looked at. */
const endings: readonly string[] = [
  words.tools,
  words.plugins,
  words.choice,
  words.environment,
  words.metadata,
  ...words.fields,
  ...words.models,
  ...words.fallbacks,
  ...words.payloads,
  ...words.payloadFields,
]

function meaningOf(name: string, plain: string, isTop: boolean): Meaning {
  if (isTop && name === 'model') return 'nothing'
  if ((isTop ? words.payloadFields : words.payloads).has(name)) return 'payload'
  if (plain.endsWith(words.metadata)) return 'payload'
  if (plain.endsWith(words.tools)) {
    if (plain === words.tools) return 'toolsAlone'
    return words.toolNames.some(one => plain.endsWith(one)) ? 'nothing' : 'tools'
  }
  if (plain === words.plugins) return 'plugins'
  if (plain === words.choice) return 'choice'
  if (isTop && words.fields.some(one => one === plain)) return 'field'
  if (words.models.some(one => plain.endsWith(one)))
    return words.fallbacks.some(one => plain.endsWith(one)) ? 'fallbacks' : 'models'
  return plain === words.environment ? 'environment' : 'nothing'
}

/** What there is to know of a name or a text of a request. */
export type DeclaredWord = {
  readonly plain: string
  /** As a field at the top of a body, as a member within it, and as one of a tool's declaration. */
  readonly atTop: Meaning
  readonly within: Meaning
  readonly ofTool: Meaning
  readonly isClientTool: boolean
  readonly isChoice: boolean
  readonly draws: boolean
  /** The kind of stored object that a member of this name names. */
  readonly object: ObjectKind | undefined
  /** An object as its value declares the kind by `id`. */
  readonly holdsId: boolean
  /** It names one at the top of a body alone. */
  readonly isTopObject: boolean
}

/** Most names and texts are those of every request. Once so many are known no more are kept, whatever callers write. */
const knownMax = 1024
const knownCharsMax = 64
const known = new Map<string, DeclaredWord>()

function wordOf(name: string): DeclaredWord {
  const before = known.get(name)
  if (before) return before
  const plain = plainName(name)
  const within = meaningOf(name, plain, false)
  const isOwn = isClientTool(name)
  const word = {
    plain,
    atTop: meaningOf(name, plain, true),
    within,
    ofTool: words.toolSchemas.has(name) ? 'payload' : within,
    isClientTool: isOwn,
    isChoice: isOwn || choices.includes(name.toLowerCase()),
    draws: makesImages(name),
    object: referenceOf(plain),
    holdsId: holdsId(plain),
    isTopObject: isTopReference(plain),
  } as const
  if (known.size < knownMax && name.length <= knownCharsMax) known.set(name, word)
  return word
}

/** How declarations are recognised in a request; `ownEnvironment` is the name of a tool's environment at the client. */
export const declarationRules = {
  endings,
  objectEndings: referenceEndings,
  wordOf,
  item: itemReference,
  idOf: objectIdOf,
  /** Of the client's texts, results of its tools may name objects: the upstream reads those. */
  lookedInto: ['output', 'variables'],
  ownEnvironment: 'local',
} as const

/** Tools that clients run themselves, and the other members of their declarations: agents and SDKs send these. */
const clientTools = [
  'function',
  'functions',
  'functionDeclarations',
  'function_declarations',
  'custom',
  'namespace',
  'bash',
  'bash_*',
  'text_editor',
  'text_editor_*',
  'str_replace_editor',
  'str_replace_based_edit_tool',
  'computer',
  'computer_*',
  'computer-use-preview',
  'computerUse',
  'computer_use',
  'memory',
  'memory_*',
  'local_shell',
  'shell',
  'apply_patch',
  // The declaration is found again among others that the client has sent.
  'tool_reference',
]
/** What `tool_choice` may contain besides a tool. */
const choices = [
  'auto',
  'none',
  'any',
  'required',
  'validated',
  'tool',
  'allowed_tools',
  'mode',
  'disable_parallel_tool_use',
]
/** Parts of the names, as `plainName` writes them, of tools that make images. */
const imageWords = ['imagegen', 'imagecreat', 'imageedit', 'generateimage', 'createimage', 'editimage', 'texttoimage']

export function isClientTool(name: string): boolean {
  return serves(clientTools, name)
}

/** Whether a tool of this name makes images, however its name is written. */
export function makesImages(name: string): boolean {
  const plain = plainName(name)
  return plain.includes('image') && imageWords.some(word => plain.includes(word))
}

/** A name as a lenient reader may take it: no marks, blanks or invisible characters, and no capital letters. */
export function plainName(name: string): string {
  if (/^[a-z0-9_]*$/.test(name)) return name.replaceAll('_', '')
  return name
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, '')
}
