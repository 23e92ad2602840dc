import type { Key } from '../../api/shapes.ts'
import { tBounds } from '../../words/bound.ts'
import { t, tName } from '../../words/index.ts'
import { momentText } from '../../words/moment.ts'
import { periodOfWord } from '../../words/period.ts'
import { tSettingChange } from '../../words/setting-change.ts'

/** Fields whose values are the gateway's names, by the prefix of their texts. */
const named: { readonly [field: string]: string } = {
  role: 'role',
  status: 'status',
  state: 'status',
}

/** A readable value: lists with commas, objects with the name of each part. */
export function valueText(name: string, value: unknown): string {
  if (isNone(value)) return '–'
  if (name === 'bounds' || name === 'key_bounds') return boundsText(value as Key['bounds'])
  if (name === 'changes' && Array.isArray(value)) return value.map(one => tSettingChange(String(one))).join(' · ')
  if (Array.isArray(value)) return value.map(one => valueText(name, one)).join(', ')
  if (typeof value === 'object')
    return Object.entries(value ?? {})
      .filter(([, one]) => !isNone(one))
      .map(([part, one]) => `${partName(part)} ${valueText(part, one)}`)
      .join(' · ')
  if (typeof value === 'boolean') return t(value ? 'yes' : 'no')
  if (typeof value !== 'string') return JSON.stringify(value)
  if (name === 'budget_period' || name === 'per') return periodOfWord(value)
  const words = named[name]
  if (/^\d{4}-\d\d-\d\dT/.test(value)) return momentText(new Date(value))
  return words === undefined ? value : tName(words, value)
}

/** A text with key names instead of their ids. */
export function withNames(text: string, names: { readonly [id: string]: string }): string {
  return text.replaceAll(/\bkey_[0-9a-z]{20}\b/g, id => names[id] ?? id)
}

/** The bounds that were set. */
function boundsText(of: Key['bounds']): string {
  return tBounds(of, '')
    .map(({ name, most }) => `${name} ${most}`)
    .join(' · ')
}

/** The name of a part of a setting: a limit, or otherwise a field. */
function partName(part: string): string {
  const limit = tName('limit', part)
  return limit === part ? tName('field', part) : limit
}

/** True if there is no value, or an empty list or object. */
export function isNone(value: unknown): boolean {
  if (value === null || value === undefined) return true
  return typeof value === 'object' && Object.values(value).every(isNone)
}
