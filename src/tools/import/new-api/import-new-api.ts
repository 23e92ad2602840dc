import type { Adoption } from '../../../domain/index.ts'
import { formatMoney } from '../../../util/index.ts'
import { bareCalls } from '../families.ts'
import type { Imported, Off } from '../import-litellm.ts'
import { isLocalHost } from '../litellm-places.ts'
import type { PriceTable } from '../price-table.ts'
import { SecretBook } from '../secret-book.ts'
import { credentialOf } from '../styles.ts'
import { type Place, UpstreamBook } from '../upstream-book.ts'
import { attemptsFor, type DraftModel, type DraftRoute, isActive, whyNoName, writeConfig } from '../write-config.ts'
import { isName, writeComment, writeForeign, writeMap, writeScalar } from '../yaml-words.ts'
import { type ChannelKind, channelKinds, type Kind } from './channel-kinds.ts'
import { TrackedTable, type ForeignBook } from './foreign-book.ts'
import { type Channel, readChannels } from './read-channels.ts'
import { type Options, type Rated, readOptions } from './read-options.ts'
import { readPeople } from './read-people.ts'

/** Options of the import in addition to the database. */
export type NewApiOptions = {
  readonly secretsAt: string
  readonly prices?: PriceTable | undefined
  readonly localFree?: boolean
  readonly mode?: string | undefined
}

export type ImportedBook = Imported & {
  readonly adoption: Adoption
  /** The sums of the balances, in the currency: in the source and here. */
  readonly sums: { readonly there: string; readonly here: string }
}

/** Translates the database of a new-api or a one-api. Undefined if it is neither. */
export function importNewApi(book: ForeignBook, kind: Kind, given: NewApiOptions): ImportedBook | undefined {
  const isExport = book.isExport === true
  if (!['channels', ...(isExport ? [] : ['users', 'tokens'])].every(name => book.tables.has(name))) return undefined
  const table = (name: string): TrackedTable => new TrackedTable(name, book.tables.get(name))
  const [channelRows, abilities, users, tokens, settings] = [
    table('channels'),
    table('abilities'),
    table('users'),
    table('tokens'),
    table('options'),
  ]
  const notes = new Set<string>()
  const note = (text: string): void => void notes.add(text)
  // There may be one for each of very many keys, and none is about the configuration.
  const ofPeople = new Set<string>()
  const options = readOptions(settings, given)
  const channels = readChannels(channelRows, note, isExport)
  const draft = draftModels(channels, { kind, given, options, note })
  const groups = groupsOf(channels, options, [users, tokens], note)
  const usable = usableModels(draft.askable, abilities, draft.models)
  const { adoption, sums } = readPeople(users, tokens, {
    quotaPerUnit: options.quotaPerUnit,
    usable: group => (usable.has(group) ? usable.get(group) : []),
    groups: new Set(groups.keys()),
    refusedGroup: options.refusedGroup,
    note(text) {
      note(text)
      ofPeople.add(text)
    },
  })
  reportGroups(draft.led, draft.models, note)
  const used = new Set(draft.models.filter(isActive).flatMap(model => model.routes.map(route => route.upstream)))
  for (const text of draft.upstreams.poolNotes(name => used.has(name))) note(text)
  for (const one of [channelRows, abilities, users, tokens]) reportColumns(one, note)
  if (options.left.length > 0) note(`settings that are not imported: ${options.left.join(', ')}`)
  reportRest(book, table('redemptions'), note)
  if (isExport)
    note('an export as JSON has no users and keys of clients: create them, or import them from the database')
  const active = draft.models.filter(isActive)
  const text = writeConfig({
    origin: `Imported from ${isExport ? 'an export' : 'the database'} of a ${kind}.`,
    notes: [
      ...[...notes].filter(one => !ofPeople.has(one)),
      ...(ofPeople.size > 0 ? [`${ofPeople.size} notes about users and keys: the import has printed them`] : []),
    ],
    groups: ['groups:', ...[...groups].map(([name, fields]) => `  ${writeScalar(name)}: ${fields}`)],
    upstreams: draft.upstreams,
    models: draft.models,
    left: draft.off,
    attempts: attemptsFor(draft.models, undefined),
  })
  return {
    text,
    notes: [...notes],
    losses: [],
    models: { all: draft.models.length, active: active.length },
    entries: { all: channels.length, active: channels.length - draft.off.length, off: draft.off },
    secrets: draft.secrets.files,
    adoption,
    sums: { there: sumThere(sums.quota, options.quotaPerUnit), here: formatMoney(Number(sums.micros)) },
  }
}

/** A sum of quota in USD, with all of its decimal places. */
function sumThere(quota: bigint, quotaPerUnit: bigint): string {
  const micros = (quota * 1_000_000n) / quotaPerUnit
  const rest = (quota * 1_000_000n) % quotaPerUnit
  const text = formatMoney(Number(micros))
  return rest === 0n ? text : `${text} and a part of 0.000001`
}

type Around = {
  readonly kind: Kind
  readonly given: NewApiOptions
  readonly options: Options
  readonly note: (text: string) => void
}

/** A model at one channel, before its priority among the others is known. */
type Way = {
  readonly channel: Channel
  readonly vendor: ChannelKind
  readonly rated: Rated
  readonly sendAs: string
  readonly isLocal: boolean
}

function draftModels(channels: readonly Channel[], around: Around) {
  const { kind, given, options, note } = around
  const upstreams = new UpstreamBook()
  const secrets = new SecretBook(given.secretsAt)
  const ways = new Map<string, Way[]>()
  const off: Off[] = []
  const askable: Channel[] = []
  for (const channel of channels) {
    const kinds = channelKinds[kind]
    const vendor = Object.hasOwn(kinds, channel.type) ? kinds[channel.type] : undefined
    const place = vendor && addressOf(channel, vendor)
    const why = !vendor
      ? `a channel of type ${channel.type} needs more than an address and a key, or translated bodies`
      : place === undefined
        ? 'it has no usable address'
        : channel.keys.length === 0
          ? 'it has no key'
          : (channel.off ??
            (channel.keys.every(key => key.off !== undefined) ? 'all of its keys are disabled' : undefined))
    if (why !== undefined) {
      off.push({ name: labelOf(channel), why })
      note(
        `${labelOf(channel)}: ${why}; its models are not served by it: ${channel.models.join(', ') || '(it has none)'}`,
      )
    }
    if (!vendor || place === undefined) continue
    askable.push(channel)
    for (const model of channel.models) {
      const no = whyNoName(model)
      if (no !== undefined) note(`${labelOf(channel)}: the model ${model} is left out: ${no}`)
      else {
        const way = {
          channel,
          vendor,
          rated: options.rate(model, vendor.style),
          sendAs: channel.mapping.get(model) ?? model,
          isLocal: place.isLocal,
        }
        const all = ways.get(model)
        if (all) all.push(way)
        else ways.set(model, [way])
      }
    }
  }
  const led = new Map<string, readonly Channel[]>()
  const models = [...ways].map(([name, all]) => draftModel(name, all, { ...around, upstreams, secrets, led }))
  return { models, upstreams, secrets, off, askable, led }
}

function draftModel(
  name: string,
  all: readonly Way[],
  around: Around & {
    readonly upstreams: UpstreamBook
    readonly secrets: SecretBook
    /** By model, the channels that serve it here. */
    readonly led: Map<string, readonly Channel[]>
  },
): DraftModel {
  const { note, given } = around
  const isOn = ({ channel }: Way): boolean =>
    channel.off === undefined && channel.keys.some(key => key.off === undefined)
  const byPriority = all.toSorted((a, b) => Number(b.channel.priority - a.channel.priority))
  const first =
    byPriority.find(way => isOn(way) && 'family' in way.rated) ?? byPriority.find(way => 'family' in way.rated)
  const [any] = byPriority as [Way]
  if (!first || !('family' in first.rated)) {
    const why = 'why' in any.rated ? any.rated.why : ''
    note(`${name}: ${why}, so its line is commented out`)
    return { name, family: 'chat', cost: { kind: 'unknown', why }, routes: [], rpm: undefined, ends: undefined }
  }
  const { family, unmapped, source } = first.rated
  const used = byPriority.filter(way => {
    const fits = 'family' in way.rated && way.rated.family === family
    if (!fits)
      note(`${name}: ${labelOf(way.channel)} is left out: its API format differs from ${labelOf(first.channel)}`)
    return fits
  })
  const isFree = first.rated.cost.kind === 'unknown' && given.localFree === true && used.every(way => way.isLocal)
  const cost = isFree ? ({ kind: 'free' } as const) : first.rated.cost
  if (cost.kind === 'unknown') note(`${name}: ${cost.why}, so its line is commented out: add its prices`)
  else if (source !== 'ratio' && cost.kind === 'prices')
    note(`${name}: it has no ratio of its own; its prices come from ${source}`)
  if (unmapped.length > 0)
    note(`${name}: not charged, because there is no equivalent price here: ${unmapped.join(', ')}`)
  const on = used.filter(isOn)
  if (on.length === 0) note(`${name}: all of its channels are disabled, so its line is commented out`)
  around.led.set(
    name,
    on.map(way => way.channel),
  )
  return { name, family, cost, routes: routesOf(on, family, around), rpm: undefined, ends: undefined }
}

/**
 * The routes of a model, those of the highest priority first: in the source a higher number comes first, here a lower
 * one.
 */
function routesOf(
  ways: readonly Way[],
  family: string,
  around: Around & { readonly upstreams: UpstreamBook; readonly secrets: SecretBook },
): readonly DraftRoute[] {
  const tiers = [...Map.groupBy(ways, way => way.channel.priority)].toSorted(([a], [b]) => Number(b - a))
  return tiers.flatMap(([, inTier], i) => {
    const isEven = new Set(inTier.map(way => way.channel.weight)).size === 1
    return inTier.flatMap(way => {
      const upstream = upstreamOf(way, family, around)
      // The source adds ten to each weight, so that a weight of 0 gets a share.
      const weight = isEven ? undefined : String(way.channel.weight + 10)
      return upstream === undefined ? [] : [{ upstream, sendAs: way.sendAs, weight, priority: i + 1 }]
    })
  })
}

/** The upstream of a channel, with all of its enabled keys; undefined if it has none. */
function upstreamOf(
  { channel, vendor }: Way,
  family: string,
  {
    upstreams,
    secrets,
    note,
  }: { readonly upstreams: UpstreamBook; readonly secrets: SecretBook; readonly note: (text: string) => void },
): string | undefined {
  const address = addressOf(channel, vendor)
  if (!address) return undefined
  const place: Place = {
    url: address.url,
    credential: credentialOf(vendor.style, vendor.path === '/openai'),
    rest: [
      [
        'headers',
        channel.organization === undefined
          ? undefined
          : writeMap([['openai-organization', writeForeign(channel.organization)]]),
      ],
      ['calls', vendor.bare === undefined ? undefined : bareCalls(family)],
    ],
  }
  const keys = channel.keys.flatMap(({ value, off }, i) => {
    const file = channel.keys.length === 1 ? `channel-${channel.id}` : `channel-${channel.id}-key-${i + 1}`
    const variable = `${file.toUpperCase().replaceAll(/\W+/g, '_')}_KEY`.replace(/_KEY_(\d+)_KEY$/, '_KEY_$1')
    const kept =
      off !== undefined
        ? { why: off }
        : value === undefined
          ? { reference: `\${${variable}:-}` }
          : secrets.keep(value, file)
    if (value === undefined && off === undefined)
      note(`${labelOf(channel)}: the export does not contain its key: set ${variable}`)
    if ('why' in kept) note(`${labelOf(channel)}: its key ${i + 1} is left out: ${kept.why}`)
    return 'why' in kept ? [] : [{ name: `key-${i + 1}`, file, reference: kept.reference, weight: 1 }]
  })
  const different = [...Map.groupBy(keys, key => key.reference).values()].flatMap(([first]) => first ?? [])
  if (different.length < keys.length)
    note(`${labelOf(channel)}: ${keys.length - different.length} of its keys are duplicates, and are imported once`)
  const [only, ...more] = different
  const remark = writeComment(labelOf(channel))
  if (!only) return undefined
  return more.length === 0
    ? upstreams.nameOf(place, only.reference, only.file, remark)
    : upstreams.poolOf(place, different, `channel-${channel.id}`, remark)
}

function addressOf(
  channel: Channel,
  vendor: ChannelKind,
): { readonly url: string; readonly isLocal: boolean } | undefined {
  const own = channel.baseUrl?.replace(/(?<!\/)\/+$/, '')
  const base = own ?? vendor.url
  if (base === undefined || !/^https?:\/\/[^\s@?#/]+(?:\/[^\s?#]*)?$/.test(base) || !URL.canParse(base))
    return undefined
  const whole = `${base}${vendor.path ?? vendor.bare ?? ''}`
  const isLocal = own === undefined ? vendor.isLocal === true : isLocalHost(new URL(own).hostname)
  return { url: JSON.stringify(whole.replaceAll('$', '$$$$')), isLocal }
}

function labelOf({ id, name }: Channel): string {
  return name === '' ? `channel ${id}` : `channel ${id} '${name}'`
}

/** Every group that the source refers to, with its factor on prices. */
function groupsOf(
  channels: readonly Channel[],
  { groupRatios, changedRatios }: Options,
  tables: readonly TrackedTable[],
  note: (text: string) => void,
): ReadonlyMap<string, string> {
  const names = new Set(['default', ...groupRatios.keys(), ...channels.flatMap(channel => channel.groups)])
  for (const table of tables)
    for (const row of table.rows) {
      const group = row.text('group')
      if (group !== undefined && group !== 'auto') names.add(group)
    }
  const groups = new Map<string, string>()
  for (const name of names) {
    const ratio = groupRatios.get(name)
    if (!isName(name)) note(`the group ${name} is not valid in a configuration, and is left out`)
    else
      groups.set(
        name,
        writeMap([['multiplier', ratio === undefined || ratio === '1' ? undefined : JSON.stringify(ratio)]]),
      )
  }
  for (const changed of changedRatios) note(changed)
  if ([...groupRatios.values()].some(ratio => ratio !== '1'))
    note('group ratios are factors on prices of tokens, calls and seconds here; they do not apply to image prices')
  return groups
}

/**
 * By group, the models that it could use through channels that can be used here; undefined for a group that could use
 * all models here.
 */
function usableModels(
  channels: readonly Channel[],
  abilities: TrackedTable,
  models: readonly DraftModel[],
): ReadonlyMap<string, readonly string[] | undefined> {
  const taken = new Set<string>()
  const on = new Set(channels.filter(channel => channel.off === undefined).map(channel => channel.id))
  for (const row of abilities.rows) {
    const channel = row.text('channel_id') ?? ''
    if (!row.truth('enabled') && on.has(channel))
      taken.add(JSON.stringify([row.text('group'), row.text('model'), channel]))
  }
  const known = new Set(models.map(model => model.name))
  const usable = new Map<string, Set<string>>()
  for (const channel of channels)
    for (const group of channel.groups)
      for (const model of channel.models)
        if (known.has(model) && !taken.has(JSON.stringify([group, model, channel.id])))
          usable.set(group, (usable.get(group) ?? new Set()).add(model))
  return new Map(
    [...usable].map(([group, names]) => [group, names.size === known.size ? undefined : [...names].toSorted()]),
  )
}

/** Reports channels that belong to some groups in the source: here they belong to models. */
function reportGroups(
  led: ReadonlyMap<string, readonly Channel[]>,
  models: readonly DraftModel[],
  note: (text: string) => void,
): void {
  for (const { name } of models.filter(isActive)) {
    const of = led.get(name) ?? []
    const kinds = new Set(of.map(channel => channel.groups.toSorted().join(', ')))
    const groups = of.map(one => `${one.id}: ${one.groups.join(', ') || 'of none'}`).join('; ')
    if (kinds.size > 1)
      note(
        `${name}: its channels had different groups (${groups}); here every client that may use it can reach all of them`,
      )
    else if (kinds.has(''))
      note(`${name}: its channels had no group, so no one could use it; here every key without a model list can`)
  }
}

function reportColumns(table: TrackedTable, note: (text: string) => void): void {
  const left = table.left().map(({ column, count }) => `${column} (${count})`)
  if (left.length > 0) note(`${table.name}: columns that are not imported: ${left.join(', ')}`)
}

function reportRest({ counted }: ForeignBook, redemptions: TrackedTable, note: (text: string) => void): void {
  const unused = redemptions.rows.filter(row => row.text('status') === '1')
  const quota = unused.reduce((sum, row) => sum + (row.whole('quota') ?? 0n), 0n)
  if (unused.length > 0) note(`redemptions: ${unused.length} unused codes, of ${quota} quota, are not imported`)
  const rows = [...counted].filter(([, count]) => count > 0).map(([name, count]) => `${name} (${count})`)
  if (rows.length > 0) note(`tables that are not imported: ${rows.join(', ')}`)
}
