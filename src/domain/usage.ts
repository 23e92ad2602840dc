/**
 * A unit of usage. Counts form a partition: a parent includes its children, and children of one parent do not overlap.
 * Units have the names of prices in `models.NAME.prices`.
 */
type UnitFacts = {
  /** The count that includes this one. */
  readonly parent?: string
  /** The number of units that a price in the configuration is for. */
  readonly per: number
  /**
   * A count of events, such as searches, or of token-hours: no other count includes it, and a response need not report
   * it.
   */
  readonly call?: true
  /** Without a separate price it always has its parent's price; `unpriced` does not apply to it. */
  readonly inherits?: true
}

const million = 1_000_000
const thousand = 1_000

const unitTable = {
  input: { per: million },
  cached_input: { parent: 'input', per: million, inherits: true },
  cached_input_audio: { parent: 'cached_input', per: million },
  cached_input_image: { parent: 'cached_input', per: million, inherits: true },
  cached_input_video: { parent: 'cached_input', per: million, inherits: true },
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

/** Names of prices for a number of another unit: a price per minute is a price for 60 seconds. */
export const unitAliases: ReadonlyMap<string, { readonly unit: UnitName; readonly per: number }> = new Map([
  ['minute', { unit: 'second', per: 60 }],
  ['hour', { unit: 'second', per: 3600 }],
])

/** Calls that some vendors count by prompt and others by query: a price for one of them covers both. */
export const sameCalls: readonly (readonly [UnitName, UnitName])[] = [['grounding', 'web_search']]

/** Whole numbers by unit; absent if not reported. */
export type Counts = { readonly [unit in UnitName]?: number }

/** Facts in the response that prices may depend on. */
export type UsageFacts = {
  readonly service_tier?: string
  readonly speed?: string
  readonly region?: string
}

/** The usage that an upstream reports for one request. */
export type Usage = {
  readonly counts: Counts
  readonly facts: UsageFacts
  /** The amount that the upstream itself charges, as a decimal; absent if it reports none. */
  readonly cost?: string
  /** Members of the report with a number that no reader knows. */
  readonly unread?: readonly string[]
}

/** All units of the tree below a unit, including the unit. */
export function treeOf(unit: UnitName): readonly UnitName[] {
  const { children } = units.get(unit) as Unit
  return [unit, ...children.flatMap(treeOf)]
}

/** The root of a unit's tree; the unit itself if no other includes it. */
export function rootOf(unit: string): UnitName {
  const parent = units.get(unit)?.parent
  return parent === undefined ? (unit as UnitName) : rootOf(parent)
}

const tokenUnits: ReadonlySet<string> = new Set([...treeOf('input'), ...treeOf('output')])

/** Whether a unit counts tokens. */
export function isTokens(unit: string): boolean {
  return tokenUnits.has(unit)
}

/** Facts in responses that prices may depend on, besides counts. */
export const factNames = ['service_tier', 'speed', 'region'] as const

/** The conditions of a price besides its count. All present members must hold. */
export type PriceConditions = {
  /** The request has more input tokens than this, including cached tokens and cache writes. */
  readonly input_above?: number
  /** The request has at least this number of input tokens. */
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

/** The handling of usage without a separate price: refused, left to a person, or charged at its parent's price. */
export const unpricedPolicies = ['refuse', 'review', 'parent'] as const
export type UnpricedPolicy = (typeof unpricedPolicies)[number]
