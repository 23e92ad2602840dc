/**
 * What a request used. Counts form a partition: a parent includes its children, and children of one parent do not overlap.
 * The names are those of prices in `models.NAME.prices`.
 */
type UnitFacts = {
  /** The count that includes this one. */
  readonly parent?: string
  /** How many one price in the configuration is for. */
  readonly per: number
  /** A count of events, such as searches, or of token-hours: nothing includes it, and an answer need not report it. */
  readonly call?: true
  /** Without a price of its own it always costs what its parent costs; `unpriced` does not govern it. */
  readonly inherits?: true
}

const million = 1_000_000
const thousand = 1_000

const unitTable = {
  input: { per: million },
  cached_input: { parent: 'input', per: million, inherits: true },
  cached_input_audio: { parent: 'cached_input', per: million },
  cached_input_image: { parent: 'cached_input', per: million, inherits: true },
  cache_write: { parent: 'input', per: million },
  cache_write_1h: { parent: 'cache_write', per: million },
  input_audio: { parent: 'input', per: million },
  input_image: { parent: 'input', per: million, inherits: true },
  input_video: { parent: 'input', per: million },
  output: { per: million },
  reasoning: { parent: 'output', per: million, inherits: true },
  output_audio: { parent: 'output', per: million },
  output_image: { parent: 'output', per: million, inherits: true },
  character: { per: million },
  second: { per: 1 },
  search_unit: { per: 1 },
  request: { per: 1 },
  web_search: { per: thousand, call: true },
  grounding: { per: thousand, call: true },
  maps: { per: thousand, call: true },
  code_execution: { per: thousand, call: true },
  file_search: { per: thousand, call: true },
  cache_storage: { per: million, call: true },
} as const satisfies { readonly [unit: string]: UnitFacts }

export type UnitName = keyof typeof unitTable
export type Unit = UnitFacts & { readonly name: UnitName; readonly children: readonly UnitName[] }

const names = Object.keys(unitTable) as UnitName[]

/** Every unit by its name, parents before their children. */
export const units: ReadonlyMap<string, Unit> = new Map(
  names.map(name => {
    const own: UnitFacts = unitTable[name]
    const children = names.filter(one => (unitTable[one] as UnitFacts).parent === name)
    return [name, { ...own, name, children }]
  }),
)

/** Prices that are another unit's, for so many of it: a price per minute is one of 60 seconds. */
export const unitAliases: ReadonlyMap<string, { readonly unit: UnitName; readonly per: number }> = new Map([
  ['minute', { unit: 'second', per: 60 }],
  ['hour', { unit: 'second', per: 3600 }],
])

/** Calls that some vendors count as prompts and others as queries: a price for one of them covers both. */
export const sameCalls: readonly (readonly [UnitName, UnitName])[] = [['grounding', 'web_search']]

/** Whole numbers by unit; what was not reported is absent. */
export type Counts = { readonly [unit in UnitName]?: number }

/** What an answer reports that prices may depend on. */
export type UsageFacts = {
  readonly service_tier?: string
  readonly speed?: string
  readonly region?: string
}

/** What an upstream reports of one request. */
export type Usage = {
  readonly counts: Counts
  readonly facts: UsageFacts
  /** The amount that the upstream itself charges, as a decimal; absent if it reports none. */
  readonly cost?: string
  /** Members of the report that hold a number and that no reader knows. */
  readonly unread?: readonly string[]
}

/** All counts of the tree that a unit heads, itself included. */
export function treeOf(unit: UnitName): readonly UnitName[] {
  const { children } = units.get(unit) as Unit
  return [unit, ...children.flatMap(treeOf)]
}

/** The unit at the head of a unit's tree; the unit itself if no other includes it. */
export function rootOf(unit: string): UnitName {
  const parent = units.get(unit)?.parent
  return parent === undefined ? (unit as UnitName) : rootOf(parent)
}

const tokenUnits: ReadonlySet<string> = new Set([...treeOf('input'), ...treeOf('output')])

/** Whether a unit counts tokens. */
export function isTokens(unit: string): boolean {
  return tokenUnits.has(unit)
}

/** What an answer may report that prices depend on besides counts. */
export const factNames = ['service_tier', 'speed', 'region'] as const

/** What a price may depend on besides what it counts. All members that are present have to hold. */
export type PriceConditions = {
  /** The request has more input tokens than this, cached and written ones included. */
  readonly input_above?: number
  /** The request has at least so many. */
  readonly input_from?: number
  readonly service_tier?: string | readonly string[]
  readonly speed?: string | readonly string[]
  readonly region?: string | readonly string[]
  /** `mon-fri`, `sat`, or several; in the zone. */
  readonly days?: string | readonly string[]
  /** `00:00-08:00`, or several; the end is excluded. */
  readonly hours?: string | readonly string[]
  /** IANA name of the time zone of `days` and `hours`. */
  readonly zone?: string
}

/** What happens to use that has no price of its own: refused, left to a person, or charged as its parent. */
export const unpricedPolicies = ['refuse', 'review', 'parent'] as const
export type UnpricedPolicy = (typeof unpricedPolicies)[number]
