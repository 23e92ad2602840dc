import { repeatedNames } from '../../../util/index.ts'
import { parseExact, ratioMapsOf } from '../../prices/index.ts'
import { type Fields, fieldsOf, listOf } from '../fields.ts'
import type { Cell, ForeignBook, ForeignTable } from './foreign-book.ts'

/** A file of an export. */
export type JsonFile = { readonly name: string; readonly text: string }

/** The contents of the files so far. */
type Gathered = {
  /** By id. */
  readonly channels: Map<string, Fields>
  /** The highest number of channels that a page reports, and its file. */
  total: { readonly count: number; readonly name: string }
  /** By name, as texts. */
  readonly options: Map<string, string>
  /** Ratios that the running source reports, including its built-in ones, by their option. */
  readonly ratios: Map<string, Fields>
  /** Parts that are not read, with their number of elements. */
  readonly counted: Map<string, number>
}

/**
 * Reads JSON from the API of a new-api or one-api: channels (`/api/channel/`, all pages or single ones), options
 * (`/api/option/`), and the ratios in effect (`/api/pricing`, `/api/ratio_config`); or one object with `channels` and
 * `options`. Such an export has no users, and mostly no vendor keys.
 * @throws Error for a file that is none of these, for a repeated name, or for missing pages
 */
export function readJsonExport(files: readonly JsonFile[]): ForeignBook {
  const gathered: Gathered = {
    channels: new Map(),
    total: { count: 0, name: '' },
    options: new Map(),
    ratios: new Map(),
    counted: new Map(),
  }
  for (const file of files) takeFile(file, gathered)
  const { channels, total, options, ratios, counted } = gathered
  if (channels.size === 0) throw new Error(`there are no channels in ${files.map(({ name }) => name).join(', ')}`)
  if (channels.size < total.count)
    throw new Error(
      `${total.name} is a page of ${total.count} channels, and ${channels.size} are here: export every page (?p=1&page_size=100, ?p=2 …) into one folder`,
    )
  for (const [name, map] of ratios) {
    const own = options.get(name) ?? '{}'
    const read = parseExact(own)
    // The text shows whether a setting is repeated.
    if (read && repeatedNames(own).length === 0) options.set(name, JSON.stringify({ ...map, ...fieldsOf(read.value) }))
  }
  const rows = [...options].map(([key, value]) => [key, value])
  const tables = new Map([
    ['channels', tableOf([...channels.values()])],
    ['options', { columns: ['key', 'value'], rows }],
  ])
  return { tables, counted, isExport: true }
}

function takeFile({ name, text }: JsonFile, gathered: Gathered): void {
  const parsed = parseExact(text)
  if (!parsed) throw new Error(`${name} is not JSON`)
  const [twice] = repeatedNames(text)
  if (twice) throw new Error(`${name} has ${twice.join('.')} twice`)
  const { success, message } = fieldsOf(parsed.value)
  if (success === false) throw new Error(`${name} is a refusal of the source: ${String(message)}`)
  if (!readDocument(name, parsed.value, gathered))
    throw new Error(
      `${name} has no channels, options or ratios: expected a response of /api/channel/, /api/option/, /api/pricing or /api/ratio_config, or an object with channels and options`,
    )
}

/** @returns false if the document is of no known kind */
function readDocument(name: string, value: unknown, gathered: Gathered): boolean {
  const { data = value, group_ratio: groups } = fieldsOf(value)
  const { items = data, total } = fieldsOf(data)
  if (Array.isArray(items)) {
    const list = items.map(fieldsOf)
    if (typeof total === 'string' && Number(total) > gathered.total.count && !list.some(isOption))
      gathered.total = { count: Number(total), name }
    return readList(name, list, value, gathered) && addGroups(groups, gathered)
  }
  const fields = fieldsOf(data)
  if (isChannel(fields)) return readList(name, [fields], value, gathered)
  if (fields['channels'] === undefined) {
    if (!priceSettings.some(one => fields[one] !== undefined)) return addRatios(data, gathered)
    addOptions(fields, gathered)
    return true
  }
  for (const [part, inner] of Object.entries(fields)) {
    const isRead = part === 'channels' || part === 'options'
    if (isRead && !readDocument(`${name}: ${part}`, inner, gathered)) return false
    if (!isRead && typeof inner === 'object') gathered.counted.set(part, listOf(inner).length)
  }
  return true
}

const priceSettings = ['ModelRatio', 'ModelPrice', 'GroupRatio', 'CompletionRatio']
const isChannel = (one: Fields): boolean => one['type'] !== undefined && one['models'] !== undefined
const isOption = (one: Fields): boolean => typeof one['key'] === 'string' && one['value'] !== undefined

function readList(name: string, list: readonly Fields[], whole: unknown, gathered: Gathered): boolean {
  if (list.every(isChannel)) {
    for (const one of list) addChannel(name, one, gathered)
    return true
  }
  if (!list.every(isOption)) return list.every(one => one['model_name'] !== undefined) && addRatios(whole, gathered)
  addOptions(Object.fromEntries(list.map(one => [String(one['key']), one['value']])), gathered)
  return true
}

/** Members that distinguish channels from other objects. */
const ofChannel = ['type', 'name', 'base_url', 'models']

/**
 * A channel may be in a list, which has no keys, and in its own file.
 * @throws Error for a different channel with the same id
 */
function addChannel(file: string, channel: Fields, { channels }: Gathered): void {
  const id = textOf(channel['id']) || `json-${channels.size + 1}`
  const known = channels.get(id)
  if (known && ofChannel.some(name => textOf(known[name]) !== textOf(channel[name])))
    throw new Error(`${file} has another channel ${id}: import the exports of one instance, made at one time`)
  if (!known || textOf(known['key']) === '') channels.set(id, { ...channel, id })
}

/** Settings by their names: the maps of ratios as objects, or as JSON texts. */
function addOptions(fields: Fields, { options }: Gathered): void {
  for (const [name, value] of Object.entries(fields)) options.set(name, textOf(value))
}

function addRatios(value: unknown, { ratios }: Gathered): boolean {
  const maps = ratioMapsOf(value)
  if (!maps) return false
  for (const [name, map] of Object.entries(maps)) if (name !== '') ratios.set(name, { ...ratios.get(name), ...map })
  return true
}

function addGroups(groups: unknown, { ratios }: Gathered): true {
  if (typeof groups === 'object') ratios.set('GroupRatio', { ...ratios.get('GroupRatio'), ...fieldsOf(groups) })
  return true
}

function tableOf(rows: readonly Fields[]): ForeignTable {
  const columns = [...new Set(rows.flatMap(row => Object.keys(row)))]
  return { columns, rows: rows.map(row => columns.map((column): Cell => textOf(row[column]) || null)) }
}

/** The value in the form of a database column, where the names of a list are separated by commas. */
function textOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (Array.isArray(value) && value.every(one => typeof one === 'string' && !/[,\n]/.test(one))) return value.join(',')
  return typeof value === 'string' ? value : JSON.stringify(value)
}
