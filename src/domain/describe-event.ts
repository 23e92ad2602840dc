import type { EventData, FeedEvent } from './events.ts'

/** Describes an event in one line of English. It quotes texts unescaped; the caller escapes them. */
export function describeEvent({ kind, data }: Pick<FeedEvent, 'kind' | 'data'>): string {
  switch (kind) {
    case 'charge.settled':
      return `${money(data)} was charged to ${word(data, 'user')} (${word(data, 'group')}) for ${word(data, 'model')}, request ${word(data, 'request_id')}`
    case 'charge.refunded':
      return `${money(data)} was refunded to ${word(data, 'user')} (${word(data, 'group')}) for ${word(data, 'model')}, request ${word(data, 'request_id')}`
    case 'key.created':
    case 'key.changed':
    case 'key.revoked':
      return `key ${word(data, 'key_id')} of ${word(data, 'user')}: ${actionOf(kind, data)}`
    case 'user.created':
    case 'user.changed':
    case 'user.erased':
      return `user ${word(data, 'user')}: ${actionOf(kind, data)}`
    case 'budget.threshold':
      return `${whose(data)}: ${Number(data['percent'])} % is spent, ${word(data, 'spent')} of ${money(data)}${renewal(data)}`
    case 'budget.exhausted':
      return `${whose(data)}: ${data['refused'] === true ? 'a request was refused' : 'it is used up'}, ${word(data, 'spent')} of ${money(data)}${renewal(data)}`
    case 'upstream.key_suspended':
      return `key ${word(data, 'key')} of ${word(data, 'upstream')} is suspended (${word(data, 'reason')}): ${data['code'] === null ? word(data, 'note') : word(data, 'code')}${byWhom(data)}`
    case 'upstream.key_resumed':
      return `key ${word(data, 'key')} of ${word(data, 'upstream')} is active again; it was suspended (${word(data, 'was')})${byWhom(data)}`
    case 'upstream.key_exhausted':
      return `the budget of key ${word(data, 'key')} of ${word(data, 'upstream')} is spent, ${word(data, 'spent')} of ${word(data, 'amount')}${renewal(data)}`
    case 'upstream.exhausted':
      return `${word(data, 'upstream')} has no usable key left`
    case 'ledger.differs':
      return `the ledger is inconsistent: ${Number(data['count'])} problems`
    case 'ledger.verified':
      return 'the ledger is consistent again'
    default:
      return Object.entries(data)
        .filter(([, value]) => value !== null && value !== undefined)
        .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
        .join(', ')
  }
}

function word(data: EventData, name: string): string {
  const value = data[name]
  return typeof value === 'string' && value !== '' ? value : '-'
}

function byWhom(data: EventData): string {
  return typeof data['by'] === 'string' ? `, by ${data['by']}` : ''
}

function money(data: EventData): string {
  return `${word(data, 'amount')} ${word(data, 'currency')}`
}

function whose(data: EventData): string {
  return `budget of ${word(data, 'level')} ${word(data, 'name')}`
}

/** The renewal of a budget; empty for a lifetime budget, which does not renew. */
function renewal({ renews }: EventData): string {
  return typeof renews === 'string' ? `; it renews at ${renews}` : ''
}

/** The action, by whom and, for a change, the changed fields. A new row sets every field. */
function actionOf(kind: FeedEvent['kind'], data: EventData): string {
  const { changed } = data
  const fields =
    kind.endsWith('.created') || !Array.isArray(changed) || changed.length === 0 ? '' : ` (${changed.join(', ')})`
  return `${word(data, 'action')} by ${word(data, 'by')}${fields}`
}
