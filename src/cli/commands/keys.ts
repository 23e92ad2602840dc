import {
  createKey as makeKey,
  describePeriod,
  eachPage,
  formatMoney,
  type Key,
  type KeyChange,
  keyLineView,
  parseDuration,
  type CompiledConfig,
  rotateKey as giveNewSecret,
  type Storage,
} from '../../index.ts'
import { Exit, exitCodes, print, say } from '../exit.ts'
import { readSettings, type SettingOptions } from '../key-settings.ts'
import { actor, withStorage } from '../with-storage.ts'
import { formatTable } from '../table.ts'
import { type NamedGroup, describeBarred, describeModels } from '../describe-bounds.ts'
import { safeLine } from '../safe-text.ts'

type Place = { readonly config: string }
type Options = Place & { readonly format: string }
type CreateOptions = Options & SettingOptions & { readonly name: string; readonly user: string }
type UpdateOptions = Place & SettingOptions & { readonly name?: string }

export async function createKey(options: CreateOptions): Promise<void> {
  const { name, user } = options
  await withStorage(options.config, async (storage, plan) => {
    const settings = readSettings(options, plan, Date.now())
    needBudget(settings.budget, settings.budgetPeriod)
    const owner = await storage.users.find(user)
    if (!owner)
      throw new Exit(
        exitCodes.usage,
        `--user ${user}: unknown user (tollgate users list shows all, tollgate users create adds one)`,
      )
    const { key, secret } = await makeKey(storage, { ...settings, name, user }, actor)
    showSecret(plan, key, secret, options)
    if (options.format !== 'json')
      say(
        `Key ${key.id} '${key.name}' of ${key.user}. ${describeModels(key.models, owner, groupOf(plan, key))} The secret is shown only now.`,
      )
  })
}

const pageKeys = 1_000

export async function listKeys(options: Options): Promise<void> {
  await withStorage(options.config, async (storage, plan) => {
    const rows: string[][] = []
    const pages = eachPage<Key>(pageKeys, last =>
      storage.keys.list({ limit: pageKeys, ...(last && { before: last.id }) }),
    )
    for await (const keys of pages)
      for (const key of keys)
        if (options.format === 'json') print(JSON.stringify(keyRecord(key, plan.timeZone)))
        else
          rows.push([
            key.id,
            key.name,
            key.user,
            key.group ?? key.userGroup,
            key.hint,
            key.status,
            formatMoney(key.spent),
            formatBudget(key),
          ])
    const titles = ['id', 'name', 'user', 'group', 'key', 'status', `spent (${plan.currency})`, 'budget']
    if (options.format !== 'json') print(formatTable(titles, rows))
  })
}

export async function showKey(id: string, options: Options): Promise<void> {
  await withStorage(options.config, async (storage, plan) => {
    const key = await findKey(storage, id)
    const record = keyRecord(key, plan.timeZone)
    if (options.format === 'json') return print(JSON.stringify(record))
    for (const [name, value] of Object.entries(record)) print(safeLine(`${name.padEnd(16)}  ${formatValue(value)}`))
    const barred = describeBarred(key.models, groupOf(plan, key))
    if (barred !== undefined) say(barred)
  })
}

export async function updateKey(id: string, options: UpdateOptions): Promise<void> {
  await withStorage(options.config, async (storage, plan) => {
    const key = await findKey(storage, id)
    const settings = readSettings(options, plan, Date.now(), key)
    const change = { ...settings, ...(options.name !== undefined && { name: options.name }) }
    if (Object.keys(change).length === 0)
      throw new Exit(
        exitCodes.usage,
        'nothing to change; name at least one setting (tollgate keys update --help lists them)',
      )
    needBudget('budget' in settings ? settings.budget : key.budget, settings.budgetPeriod)
    await changeKey(storage, id, change)
    say(`Changed key ${id}.`)
    if (!('models' in settings) && !('group' in settings)) return
    const changed = await findKey(storage, id)
    if (describeBarred(changed.models, groupOf(plan, changed)) !== undefined)
      say(describeModels(changed.models, undefined, groupOf(plan, changed)))
  })
}

export async function disableKey(id: string, options: Place): Promise<void> {
  await withStorage(options.config, async storage => {
    await changeKey(storage, id, { status: 'disabled' })
    say(`Disabled key ${id}. Enable it again with tollgate keys enable ${id}.`)
  })
}

export async function enableKey(id: string, options: Place): Promise<void> {
  await withStorage(options.config, async storage => {
    await changeKey(storage, id, { status: 'active' })
    say(`Enabled key ${id}.`)
  })
}

export async function rotateKey(id: string, options: Options & { readonly overlap: string }): Promise<void> {
  const overlapMs = parseDuration(options.overlap)
  if (overlapMs === undefined)
    throw new Exit(exitCodes.usage, `--overlap ${options.overlap}: expected a duration such as 24h or 30m; 0s for none`)
  await withStorage(options.config, async (storage, plan) => {
    const rotated = await giveNewSecret(storage, id, overlapMs, actor)
    if (!rotated) throw await whyNot(storage, id)
    const { key, secret } = rotated
    showSecret(plan, key, secret, options)
    if (options.format === 'json') return
    say(`The new secret of key ${id}. The secret is shown only now.`)
    say(overlapMs === 0 ? 'The old one no longer works.' : `The old one works until ${formatMoment(key.oldUntil)}.`)
  })
}

export async function revokeKey(id: string, options: Place): Promise<void> {
  await withStorage(options.config, async storage => {
    if (!(await storage.keys.revoke(id, actor))) throw await whyNot(storage, id)
    say(`Revoked key ${id}.`)
  })
}

/** @throws Exit 1 if there is no such key, or it was revoked */
async function changeKey(storage: Storage, id: string, change: KeyChange): Promise<void> {
  if (!(await storage.keys.change(id, change, actor))) throw await whyNot(storage, id)
}

/** @throws Exit 1 if there is no such key */
async function findKey(storage: Storage, id: string): Promise<Key> {
  const key = await storage.keys.find(id)
  if (!key) throw new Exit(exitCodes.failure, `there is no key '${id}' (tollgate keys list)`)
  return key
}

async function whyNot(storage: Storage, id: string): Promise<Exit> {
  await findKey(storage, id)
  return new Exit(exitCodes.failure, `key '${id}' is revoked, which cannot be undone`)
}

/** A budget period without an amount would have no effect. @throws Exit 2 */
function needBudget(budget: number | null | undefined, period: string | undefined): void {
  if (period !== undefined && period !== 'total' && (budget ?? null) === null)
    throw new Exit(exitCodes.usage, `--budget-period ${period}: also set --budget to the amount per period`)
}

/** Prints the secret, which is shown only once: alone on a line, or in an object with the key's fields. */
function showSecret({ timeZone }: CompiledConfig, key: Key, secret: string, { format }: Options): void {
  const { id, ...rest } = keyRecord(key, timeZone)
  print(format === 'json' ? JSON.stringify({ id, key: secret, ...rest }) : secret)
}

function keyRecord(key: Key, zone: string) {
  return keyLineView.show({ key, now: Date.now(), zone })
}

/** The effective group of a key; undefined if the configuration no longer has it. */
function groupOf({ groups }: CompiledConfig, { group, userGroup }: Key): NamedGroup | undefined {
  return groups.get(group ?? userGroup)
}

function formatMoment(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString()
}

function formatBudget({ budget, budgetPeriod, budgetSoft }: Key): string {
  if (budget === null) return '-'
  const period = budgetPeriod === 'total' ? '' : ` ${describePeriod(budgetPeriod)}`
  return `${formatMoney(budget)}${period}${budgetSoft ? ', soft' : ''}`
}

/** Formats one value for people: lists with commas, limits with their names, `-` for unset values. */
function formatValue(value: string | number | boolean | readonly string[] | object | null): string {
  if (value === null) return '-'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'string' || typeof value === 'number') return String(value)
  if (Array.isArray(value)) return value.join(', ')
  const named = Object.entries(value).map(([name, one]) => `${name} ${String(one)}`)
  return named.join(', ') || '-'
}
