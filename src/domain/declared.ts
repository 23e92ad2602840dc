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

/** A tool in a request that the client does not run itself, from its declaration. */
export type DeclaredTool = {
  /** As sent, shortened: `web_search_20250305`, `googleSearch`. */
  readonly name: string
  /** `tools[0].parameters.tools[1].type` */
  readonly place: string
  /** The field at the top of the body that contains it. */
  readonly field: string
  readonly draws: boolean
  /** It is nested in the declaration of another tool, which is checked separately. */
  readonly isPart?: true
  /** Its kind is declared twice, and upstreams differ in which one they read. */
  readonly isDoubled?: true
}

/** A model that a request names outside its own field `model`. */
export type DeclaredModel = {
  readonly name: string
  readonly place: string
  /** Names and indexes of the path; the first is the top-level field. */
  readonly path: readonly (string | number)[]
  readonly runs: 'instead' | 'beside'
}

/** The tools, further models and stored objects that a body names at any depth, found while the body is scanned. */
export type Declared = {
  readonly tools: readonly DeclaredTool[]
  readonly models: readonly DeclaredModel[]
  readonly objects: readonly ObjectReference[]
}

/**
 * The meaning of a member's name: tools (`toolsAlone` if texts are tools too), tools that have their kind in `id`, the
 * choice of a tool, a field whose presence is a tool, names of models, the place where a tool runs, or content that is
 * not searched.
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
 * The members by which requests of all API formats declare tools and name models. They are in one table, because an
 * upstream may read more formats than the one of its path. Names are compared as `plainName` writes them, except
 * payloads, whose names are compared exactly.
 */
const words = {
  /** Members with such endings contain tools. */
  tools: 'tools',
  /** … except these: names of a server's tools, or of tools that are declared elsewhere. */
  toolNames: ['allowedtools', 'enabledtools', 'disabledtools', 'excludedtools'],
  /** Tools that declare their kind by `id`. */
  plugins: 'plugins',
  choice: 'toolchoice',
  /** Top-level fields each of which is a tool. */
  fields: ['websearchoptions', 'mcpservers', 'searchparameters', 'enablesearch', 'connectors'],
  /** Endings of members whose texts name models. */
  models: ['model', 'models', 'modelname', 'modelnames', 'modelid', 'modelids', 'fallbacks'],
  /** The members among these whose models answer if the first does not. */
  fallbacks: ['fallbacks', 'fallbackmodel', 'fallbackmodels'],
  environment: 'environment',
  /** Content of clients and their tools: schemas, arguments, results, labels. */
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
  /** The payload members that may also be a top-level field of a body. */
  payloadFields: new Set(['documents', 'functions', 'labels']),
  metadata: 'metadata',
  /** The schema of a client's tool, in declarations that need no type. */
  toolSchemas: new Set(['input_schema', 'inputSchema']),
} as const

/** The endings of all names with a meaning. Names with other endings are skipped. */
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

/** The properties of a name or a text of a request. */
export type DeclaredWord = {
  readonly plain: string
  /** Its meaning as a top-level field, as a nested member, and as a member of a tool's declaration. */
  readonly atTop: Meaning
  readonly within: Meaning
  readonly ofTool: Meaning
  readonly isClientTool: boolean
  readonly isChoice: boolean
  readonly draws: boolean
  /** The kind of stored object that a member with this name refers to. */
  readonly object: ObjectKind | undefined
  /** The same for an object whose value declares its kind by `id`. */
  readonly holdsId: boolean
  /** It refers to an object only as a top-level field. */
  readonly isTopObject: boolean
}

/**
 * The maximum number of cached words. Most requests have the same names and texts; the maximum keeps memory bounded,
 * whatever clients send.
 */
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

/** Options of the detection; `ownEnvironment` is the name for a tool environment at the client. */
export const declarationRules = {
  endings,
  objectEndings: referenceEndings,
  wordOf,
  item: itemReference,
  idOf: objectIdOf,
  /**
   * Client content that is searched for references: results of tools may refer to objects, and the upstream reads
   * those.
   */
  lookedInto: ['output', 'variables'],
  ownEnvironment: 'local',
} as const

/** Tools that clients run themselves, and other members of their declarations, as agents and SDKs send them. */
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
  'browser_toolset_*',
  'memory',
  'memory_*',
  'local_shell',
  'shell',
  'apply_patch',
  // It refers to a declaration that is checked separately.
  'tool_reference',
]
/** The values of `tool_choice` that are not tools. */
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

/** Whether a tool with this name makes images, in any spelling of the name. */
export function makesImages(name: string): boolean {
  const plain = plainName(name)
  return plain.includes('image') && imageWords.some(word => plain.includes(word))
}

/** A name as a lenient parser may read it: without punctuation, spaces or invisible characters, in lower case. */
export function plainName(name: string): string {
  if (/^[a-z0-9_]*$/.test(name)) return name.replaceAll('_', '')
  return name
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, '')
}
