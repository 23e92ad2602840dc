import { t, tName } from './index.ts'

/** Fields whose values are names of the gateway's own, by the words that tell them. */
const named: { readonly [field: string]: string } = {
  role: 'role',
  status: 'status',
  state: 'status',
  budget_period: 'period',
  per: 'period',
}

/** A value of the audit log, of one field: what has parts is told part by part, as people read them. */
export function tTrailValue(name: string, value: unknown): string {
  if (value === null || value === undefined) return t('change.none')
  if (typeof value === 'boolean') return t(value ? 'yes' : 'no')
  if (typeof value === 'string') return named[name] === undefined ? value : tName(named[name], value)
  if (Array.isArray(value))
    return value.length === 0 ? t('change.none') : value.map(one => tTrailValue(name, one)).join(', ')
  if (typeof value !== 'object') return String(value)
  const parts = Object.entries(value).filter(([, one]) => one !== null && one !== undefined)
  if (parts.length === 0) return t('change.none')
  return parts.map(([part, one]) => `${partName(part)} ${partText(part, one)}`).join(' · ')
}

function partName(part: string): string {
  const limit = tName('limit', part)
  return limit === part ? tName('field', part) : limit
}

function partText(part: string, value: unknown): string {
  const text = tTrailValue(part, value)
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? `(${text})` : text
}
