import {
  type BudgetPeriod,
  joinPeriod,
  isOffered,
  type Key,
  type KeySettings,
  type Limits,
  parseAddressRange,
  parseDuration,
  periodChoices,
  readResetDay,
  resetChoices,
  splitPeriod,
  parseMoney,
  type CompiledConfig,
} from '../index.ts'
import { Exit, exitCodes } from './exit.ts'

/** The options of `keys create` and `keys update` that set a key, as typed. */
export type SettingOptions = {
  readonly group?: string
  readonly models?: string
  readonly expires?: string
  readonly ips?: string
  readonly tags?: string
  readonly cache?: string
  readonly rpm?: string
  readonly tpm?: string
  readonly concurrency?: string
  readonly budget?: string
  readonly budgetPeriod?: string
  readonly resetsOn?: string
  readonly budgetSoft?: string
}

/** The word that unsets a setting. */
const none = 'none'
export const limitKinds = ['rpm', 'tpm', 'concurrency'] as const
/** Only ISO 8601: other notations are ambiguous. */
const dateText = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d))?$/

/**
 * Parses the typed settings; others are left out. For an existing `key`, `none` unsets them.
 * @throws Exit 2 with the valid form
 */
export function readSettings(
  options: SettingOptions,
  plan: CompiledConfig,
  now: number,
  key?: Pick<Key, 'limits'>,
): Partial<KeySettings> {
  function setting<Name extends keyof KeySettings>(
    name: Name,
    text: string | undefined,
    read: (text: string) => KeySettings[Name] & {},
  ): Partial<KeySettings> {
    return text === undefined ? {} : { [name]: key && text === none ? null : read(text) }
  }
  return {
    ...setting('group', options.group, text => oneOf('--group', text, plan.groups)),
    ...setting('models', options.models, text => words(text).map(name => readModel(name, plan))),
    ...setting('expiresAt', options.expires, text => readMoment(text, now)),
    ...setting('tags', options.tags, text => words(text).filter(word => word !== '')),
    ...setting('cache', options.cache, String),
    ...setting('ips', options.ips, text => readAddresses(text)),
    ...setting('budget', options.budget, readAmount),
    ...readKeyPeriod(options),
    ...(options.budgetSoft !== undefined && { budgetSoft: readYes('--budget-soft', options.budgetSoft) }),
    ...(limitKinds.some(kind => options[kind] !== undefined) && { limits: readLimits(options, key) }),
  }
}

function usage(option: string, found: string, right: string): Exit {
  return new Exit(exitCodes.usage, `${option} ${found}: ${right}`)
}

function words(text: string): readonly string[] {
  return text.split(',').map(word => word.trim())
}

function oneOf(option: string, name: string, known: ReadonlyMap<string, unknown>): string {
  if (known.has(name)) return name
  throw usage(option, name, `the configuration has ${[...known.keys()].join(', ')}`)
}

/** A model, or a prefix followed by `*` that matches one. */
function readModel(name: string, plan: CompiledConfig): string {
  return isOffered(plan, name) ? name : oneOf('--models', name, plan.models)
}

export function readMoment(text: string, now: number): number {
  const length = parseDuration(text)
  const at = length === undefined ? (dateText.test(text) ? Date.parse(text) : Number.NaN) : now + length
  if (!Number.isFinite(new Date(at).getTime()))
    throw usage('--expires', text, 'expected a date such as 2027-01-31, or a time from now such as 30d')
  if (at <= now) throw usage('--expires', text, 'it is in the past; expected a future time')
  return at
}

/** @throws Exit 2 */
export function readAddresses(text: string): readonly string[] {
  return words(text).map(readAddress)
}

function readAddress(text: string): string {
  if (parseAddressRange(text)) return text
  throw usage('--ips', text, 'expected addresses or CIDR blocks such as 192.0.2.7,2001:db8::/32')
}

function readAmount(text: string): number {
  const amount = parseMoney(text)
  if (amount === undefined) throw usage('--budget', text, 'expected an amount such as 25.00')
  return amount
}

function readKeyPeriod({ budgetPeriod, resetsOn }: SettingOptions): Partial<KeySettings> {
  if (budgetPeriod === undefined && resetsOn !== undefined)
    throw usage('--resets-on', resetsOn, 'give --budget-period with it, week or month')
  return budgetPeriod === undefined ? {} : { budgetPeriod: readPeriod('--budget-period', budgetPeriod, resetsOn) }
}

/** @throws Exit 2 */
export function readPeriod(option: string, per: string, resetsOn: string | undefined): BudgetPeriod {
  if (joinPeriod(per) === undefined) throw usage(option, per, `expected ${periodChoices}`)
  const period = joinPeriod(per, resetsOn === undefined ? null : readResetDay(resetsOn))
  if (period === undefined) throw usage('--resets-on', resetsOn ?? '', `expected ${resetChoices}`)
  return period
}

function readYes(option: string, text: string): boolean {
  if (text === 'yes' || text === 'no') return text === 'yes'
  throw usage(option, text, 'expected yes or no')
}

/** A period in a table: `week from sunday`. */
export function formatPeriod(period: BudgetPeriod): string {
  const { per, resetsOn } = splitPeriod(period)
  return period.includes('@') ? `${per} from ${resetsOn}` : per
}

function readLimits(options: SettingOptions, key: Pick<Key, 'limits'> | undefined): Limits {
  const limits: { -readonly [L in keyof Limits]: Limits[L] } = { ...key?.limits }
  for (const kind of limitKinds) {
    const text = options[kind]
    if (key && text === none) delete limits[kind]
    else if (text !== undefined) limits[kind] = readCount(`--${kind}`, text)
  }
  return limits
}

function readCount(option: string, text: string): number {
  const count = Number(text)
  if (/^\d+$/.test(text) && Number.isSafeInteger(count) && count > 0) return count
  throw usage(option, text, 'expected a whole number from 1')
}
