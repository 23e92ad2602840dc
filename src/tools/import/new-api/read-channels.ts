import { fieldsOf, listOf } from '../fields.ts'
import type { TrackedRow, TrackedTable } from './foreign-book.ts'

/** A channel: one vendor's address, keys and models. */
export type Channel = {
  readonly id: string
  readonly type: string
  readonly name: string
  readonly baseUrl: string | undefined
  readonly organization: string | undefined
  /** Why the channel is off; undefined if it is on. */
  readonly off: string | undefined
  /** Its keys; disabled ones have the reason, and keys that an export leaves out have no value. */
  readonly keys: readonly { readonly value: string | undefined; readonly off: string | undefined }[]
  readonly models: readonly string[]
  /** The upstream's names of models, by the names that clients use. */
  readonly mapping: ReadonlyMap<string, string>
  readonly groups: readonly string[]
  readonly priority: bigint
  readonly weight: number
}

/** The maximum for a channel whose export contains only the number of keys. */
const keysMost = 1_000

/** Larger weights cannot be drawn exactly. */
const weightMost = 1_000_000_000n
/** The maximum of the source's column. */
const rankMost = 2n ** 63n - 1n

const states: ReadonlyMap<string, string> = new Map([
  ['2', 'it was disabled manually'],
  ['3', 'it was disabled automatically'],
])

export function readChannels(table: TrackedTable, note: (text: string) => void, isExport: boolean): readonly Channel[] {
  return table.rows.map(row => readChannel(row, note, isExport))
}

function readChannel(row: TrackedRow, note: (text: string) => void, isExport: boolean): Channel {
  const id = row.text('id') ?? 'without an id'
  const status = row.text('status') ?? '1'
  return {
    id,
    type: row.text('type') ?? '0',
    name: row.text('name') ?? '',
    baseUrl: row.text('base_url'),
    organization: row.text('openai_organization'),
    off: status === '1' ? undefined : (states.get(status) ?? `its status is ${status}`),
    keys: keysOf(row.text('key') ?? '', fieldsOf(parse(row.text('channel_info'))), isExport),
    models: wordsOf(row.text('models')),
    mapping: mappingOf(id, row.text('model_mapping'), note),
    groups: wordsOf(row.text('group')),
    priority: numberOf(row, 'priority', [-rankMost, rankMost], note),
    weight: Number(numberOf(row, 'weight', [0n, weightMost], note)),
  }
}

/** A whole number within its bounds; any other is reported with its replacement. */
function numberOf(
  row: TrackedRow,
  column: string,
  [least, most]: readonly [least: bigint, most: bigint],
  note: (text: string) => void,
): bigint {
  const text = row.text(column) ?? '0'
  const value = row.whole(column)
  const near = value ?? 0n
  const used = near < least ? least : near > most ? most : near
  if (value !== used && text !== '0')
    note(
      `channel ${row.text('id')}: its ${column} is ${text}, not a whole number from ${least} to ${most}; here ${used}`,
    )
  return used
}

/** Words separated by commas, each once. */
export function wordsOf(text: string | undefined): readonly string[] {
  return [...new Set((text ?? '').split(/[,\n]/).map(word => word.trim()))].filter(word => word !== '')
}

/**
 * Several keys are lines, or a list; another field has the positions of the disabled ones. Empty lines and keys that
 * are not texts count as positions, too.
 */
function keysOf(text: string, info: { readonly [name: string]: unknown }, isExport: boolean): Channel['keys'] {
  const list = text.startsWith('[') ? listOf(parse(text)) : []
  const known = list.some(one => typeof one === 'string') ? list : text.split('\n')
  const count = Math.max(1, Math.min(keysMost, Number(info['multi_key_size']) || 1))
  const values = text === '' && isExport ? Array.from({ length: count }, () => undefined) : known
  const states = fieldsOf(info['multi_key_status_list'])
  const reasons = fieldsOf(info['multi_key_disabled_reason'])
  return values.flatMap((one, i) => {
    const value = typeof one === 'string' ? one.trim() : undefined
    if (value === '' || (one !== undefined && value === undefined)) return []
    const state = states[String(i)]
    const isOff = state !== undefined && state !== 1 && state !== '1'
    const reason = reasons[String(i)]
    return [{ value, off: isOff ? (typeof reason === 'string' ? reason : 'it was disabled') : undefined }]
  })
}

/** The upstream's name of a model; a name that maps to another name of the map is followed further. */
function mappingOf(id: string, text: string | undefined, note: (text: string) => void): ReadonlyMap<string, string> {
  const parsed = parse(text)
  if (text !== undefined && (typeof parsed !== 'object' || parsed === null))
    note(`channel ${id}: its model_mapping cannot be read`)
  const map = new Map(
    Object.entries(fieldsOf(parsed)).flatMap(([from, to]) =>
      typeof to === 'string' && to !== '' ? [[from, to] as const] : [],
    ),
  )
  const ends = new Map<string, string>()
  for (const from of map.keys()) {
    const seen = new Set([from])
    let to = from
    for (let next = map.get(to); next !== undefined && !seen.has(next); next = map.get(to)) seen.add((to = next))
    ends.set(from, to)
  }
  return ends
}

export function parse(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}
