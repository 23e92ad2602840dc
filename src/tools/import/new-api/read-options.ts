import type { TableRow } from '../../../domain/index.ts'
import { multiply, readDecimal, readNewApiRatios, shiftPoint, toPrice, withoutNoise } from '../../prices/index.ts'
import { embeddingFamilies, familyOf } from '../families.ts'
import { fieldsOf } from '../fields.ts'
import { costOfRow, type PriceTable } from '../price-table.ts'
import type { Style } from '../styles.ts'
import type { Cost } from '../write-config.ts'
import type { TrackedTable } from './foreign-book.ts'
import { parse } from './read-channels.ts'

/** The family and the cost of a model, or why they are not known. */
export type Rated =
  | { readonly family: string; readonly cost: Cost; readonly source: string; readonly unmapped: readonly string[] }
  | { readonly why: string }

/** The imported settings of the other gateway. */
export type Options = {
  readonly quotaPerUnit: bigint
  /** By group: the factor on its prices, as a decimal. */
  readonly groupRatios: ReadonlyMap<string, string>
  /** Factors and prices that differ from those of the source. */
  readonly changedRatios: readonly string[]
  /** Why a token of a user may not use a group other than the user's own; undefined if it may. */
  readonly refusedGroup: (ofUser: string, group: string) => string | undefined
  rate(model: string, style: Style): Rated
  /** Names of settings that were not used. */
  readonly left: readonly string[]
}

const mapOptions = [
  'ModelRatio',
  'CompletionRatio',
  'CacheRatio',
  'CreateCacheRatio',
  'ImageRatio',
  'AudioRatio',
  'AudioCompletionRatio',
  'ModelPrice',
  'GroupRatio',
  'billing_setting.billing_mode',
  'billing_setting.billing_expr',
]
const usableOption = 'UserUsableGroups'
const usableChanges = 'group_ratio_setting.group_special_usable_group'
/** Ratios by the group of the user and that of the token. */
const pairOption = 'GroupGroupRatio'
const read = new Set([...mapOptions, 'QuotaPerUnit', usableOption, usableChanges, pairOption])
/** Ratios for media other than text: a model with one of them is not just for conversations. */
const ofMedia = ['ImageRatio', 'AudioRatio', 'AudioCompletionRatio']

/** The maximum digits of a factor here: before and after the decimal point. */
const factorDigits = 9
const factorPlaces = 6

/** @throws Error if QuotaPerUnit or GroupRatio cannot be read: without them, every amount would be wrong */
export function readOptions(
  table: TrackedTable,
  given: { readonly prices?: PriceTable | undefined; readonly mode?: string | undefined },
): Options {
  const options = new Map(table.rows.map(row => [row.text('key') ?? '', row.text('value') ?? '']))
  const maps = Object.fromEntries(mapOptions.map(name => [name, fieldsOf(parseRatios(options.get(name)))]))
  const quotaPerUnit = quotaPerUnitOf(options.get('QuotaPerUnit'))
  const broken = mapOptions.filter(name => isBroken(options.get(name)))
  if (broken.includes('GroupRatio'))
    throw new Error('the setting GroupRatio is not a JSON object, so prices are not known; correct it in the source')
  const ratioOptions = Object.fromEntries([...options].filter(([name]) => read.has(name)))
  const rounded: string[] = []
  const ratios = readNewApiRatios(JSON.stringify(ratioOptions), (place, exact, price) =>
    rounded.push(
      `${place} costs ${exact} per million in the source, which has more than six decimal places; here ${price}`,
    ),
  )
  const rows = new Map(ratios?.rows.map(row => [row.id, row]))
  // Ratios are relative to this quota per unit.
  const isOther = quotaPerUnit !== 500_000n
  const left = new Map(ratios?.left.map(({ id, why }) => [id, why]))
  const hasOwnPrice = (model: string): boolean =>
    ['CompletionRatio', 'ModelPrice', 'billing_setting.billing_expr'].some(name => isSet(textOf(maps[name]?.[model])))

  function modeOf(model: string): string | undefined {
    const known = given.prices?.rows.find(model, { others: true })
    if (known?.kind === 'found' && known.row.mode !== undefined) return known.row.mode
    // A model that answers in tokens, and has no ratio for audio and images, is a conversation model.
    const talks =
      maps['CompletionRatio']?.[model] !== undefined && ofMedia.every(name => maps[name]?.[model] === undefined)
    return talks ? 'chat' : given.mode
  }

  function rate(model: string, style: Style): Rated {
    const mode = modeOf(model)
    if (mode === undefined) return { why: 'its mode is unknown: use --mode chat, or a table that has it (--prices)' }
    const family = familyOf(mode, style)
    if (family === undefined) return { why: `mode ${mode} is not supported in the API format of its channel` }
    const row = rows.get(model) ?? inputAlone(model, family)
    if (row) {
      const cost = costOfRow(family === 'image' ? perImage(row) : row, family)
      return { family, cost, source: 'ratio', unmapped: row.unmapped ?? [] }
    }
    const unread = left.get(model)
    // A model with its own price in the source never gets the price of another list.
    if (unread !== undefined && hasOwnPrice(model))
      return { family, cost: { kind: 'unknown', why: unread }, source: '', unmapped: [] }
    const listed = given.prices?.rows.find(model)
    if (listed?.kind === 'found' && listed.by === 'id')
      return {
        family,
        cost: costOfRow(listed.row, family),
        source: given.prices?.name ?? '',
        unmapped: listed.row.unmapped ?? [],
      }
    const why = isOther
      ? `QuotaPerUnit is ${quotaPerUnit} in the source, so its ratios mean different prices`
      : (unread ?? "it has no ratio and no price; they may be defined in the source's code")
    return { family, cost: { kind: 'unknown', why }, source: '', unmapped: [] }
  }

  /** A model that answers with embeddings costs only its input. */
  function inputAlone(id: string, family: string): TableRow | undefined {
    const ratio = readDecimal(textOf(maps['ModelRatio']?.[id]))
    const input = ratio === undefined ? undefined : toPrice(withoutNoise(multiply('2', ratio)))
    if (!embeddingFamilies.has(family) || input === undefined || Number(input) === 0) return undefined
    return { id, prices: { input } }
  }

  const pairs = Object.entries(fieldsOf(parseRatios(options.get(pairOption)))).flatMap(([user, ratios]) =>
    Object.entries(fieldsOf(ratios)).map(([group, ratio]) => `users of ${user} in ${group} ${textOf(ratio)}`),
  )
  const factors = Object.entries(maps['GroupRatio'] ?? {}).map(([group, ratio]) => [group, factorOf(ratio)] as const)
  return {
    quotaPerUnit,
    groupRatios: new Map(factors.map(([group, { factor }]) => [group, factor])),
    changedRatios: [
      ...broken.map(name => `the setting ${name} is not a JSON object, and is not used`),
      ...rounded,
      ...factors.flatMap(([group, { why }]) => (why === undefined ? [] : `the ratio of group ${group}: ${why}`)),
      ...(pairs.length > 0
        ? [
            `${pairOption} is not imported: every key has the ratio of its group here; in the source ${pairs.join(', ')}`,
          ]
        : []),
    ],
    refusedGroup: (ofUser, group) =>
      factors.length > 0 && maps['GroupRatio']?.[group] === undefined
        ? `its group ${group} has no ratio in the source`
        : isUsable(options, ofUser, group)
          ? undefined
          : `users of the group ${ofUser} may not use its group ${group} in the source`,
    rate,
    left: [...options]
      .flatMap(([name, value]) => (read.has(name) || ['', 'false', '{}', '[]', '0'].includes(value) ? [] : [name]))
      .toSorted(),
  }
}

/**
 * Whether users of a group may use another one. Without the setting, the defaults in the code of the source apply, which
 * are not known.
 */
function isUsable(options: ReadonlyMap<string, string>, ofUser: string, group: string): boolean {
  const usable = options.get(usableOption)
  if (usable === undefined) return true
  const changes = fieldsOf(fieldsOf(parse(options.get(usableChanges)))[ofUser])
  if (changes[`-:${group}`] !== undefined) return false
  return [fieldsOf(parse(usable))[group], changes[`+:${group}`], changes[group]].some(one => one !== undefined)
}

/** The factor on prices here, and why it differs from that of the source. */
function factorOf(ratio: unknown): { readonly factor: string; readonly why?: string } {
  const exact = readDecimal(textOf(ratio))
  const [whole = '', places = ''] = exact?.split('.') ?? []
  if (exact === undefined || whole.length > factorDigits)
    return { factor: '1', why: 'it is not a valid factor, so it is 1 here' }
  if (places.length <= factorPlaces) return { factor: exact }
  const micros = BigInt(whole + places.slice(0, factorPlaces)) + (places.charAt(factorPlaces) >= '5' ? 1n : 0n)
  // A factor that is not 0 does not become 0.
  const factor = shiftPoint(String(micros || 1n), -factorPlaces)
  return { factor, why: `${exact} has more than six decimal places, so it is ${factor} here` }
}

/** The quota of one USD. */
function quotaPerUnitOf(text = ''): bigint {
  if (text === '') return 500_000n
  const decimal = readDecimal(text) ?? ''
  if (!/^[1-9]\d{0,14}$/.test(decimal))
    throw new Error(
      `the setting QuotaPerUnit is '${text}', not a positive whole number, so balances are not known; correct it in the source`,
    )
  return BigInt(decimal)
}

function isBroken(text = ''): boolean {
  const value = parse(text)
  return text !== '' && (typeof value !== 'object' || Array.isArray(value))
}

function isSet(value: string): boolean {
  return value !== '' && !/^[0.]+$/.test(value)
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** Keeps numbers as texts, with all of their digits. */
function parseRatios(text: string | undefined): unknown {
  if (parse(text) === undefined) return undefined
  const keep = (_key: string, value: unknown, context?: { readonly source?: string }): unknown =>
    typeof value === 'number' ? (context?.source ?? String(value)) : value
  return JSON.parse(text ?? '', keep)
}

/**
 * A price of each call becomes a price of each image: in the source a call for three images costs three times as much.
 */
function perImage(row: TableRow): TableRow {
  const { request, ...rest } = row.prices
  return request === undefined ? row : { ...row, prices: { ...rest, each: request } }
}
