import type { Dealt, EventData, NewestStatus, OpenCharges, StoredEvent, WebhookState } from '../domain/index.ts'

/** Subjects that need attention; the console has a text for each, and a page with a remedy. */
export type AlertKind =
  | 'budget.threshold'
  | 'budget.exhausted'
  | 'upstream.key_suspended'
  | 'upstream.exhausted'
  | 'config.refused'
  | 'ledger.differs'
  | 'webhook.failing'
  | 'charges.review'
  | 'certificate.ends'

export type Alert = {
  /**
   * The same while the cause is the same. If the cause returns after the alert was dealt with, the id differs, so that
   * the alert appears again.
   */
  readonly id: string
  readonly kind: AlertKind
  /** The start in milliseconds since the epoch; null if unknown. */
  readonly at: number | null
  readonly data: EventData
}

/** The current state, for alerts that no event reports. */
export type CurrentState = {
  readonly now: number
  readonly webhooks: readonly WebhookState[]
  readonly open: readonly OpenCharges[]
  /** The marks of lasting alerts: an alert with a newer mark than that of the one that was dealt with appears again. */
  readonly newest: NewestStatus
  /** When the certificate of the API listener expires. */
  readonly certificateEnds: number | null
}

const certificateSoonMs = 14 * 86_400_000

/**
 * Finds alerts. Only the latest event of each subject counts, which is a budget, a key, an upstream, the configuration
 * or the ledger.
 */
export function findAlerts(events: readonly StoredEvent[], status: CurrentState): readonly Alert[] {
  const latest = new Map<string, StoredEvent>()
  for (const event of events.toSorted((a, b) => a.id - b.id)) {
    const subject = subjectOf(event)
    const before = latest.get(subject)
    // An exhausted budget is more important than its last threshold.
    if (before?.kind === 'budget.exhausted' && event.kind === 'budget.threshold' && samePeriod(before, event)) continue
    if (event.kind === 'upstream.key_resumed') latest.delete(`keys of ${textOf(event.data, 'upstream')}`)
    latest.set(subject, event)
  }
  const openEvents = [...latest.values()].filter(event => isOpen(event, status.now))
  const alerts = openEvents.map(
    ({ id, kind, at, data }): Alert => ({ id: `event/${id}`, kind: kind as AlertKind, at, data }),
  )
  return [...alerts, ...currentAlerts(status)].sort((a, b) => (b.at ?? Infinity) - (a.at ?? Infinity) || 0)
}

function subjectOf({ kind, data }: StoredEvent): string {
  const of = (name: string): string => textOf(data, name)
  switch (kind) {
    case 'budget.threshold':
    case 'budget.exhausted':
      return `budget ${of('level')} ${of('name')}`
    case 'upstream.key_suspended':
    case 'upstream.key_resumed':
      return `key ${of('upstream')} ${of('key')}`
    case 'upstream.exhausted':
      return `keys of ${of('upstream')}`
    default:
      return kind.slice(0, kind.indexOf('.'))
  }
}

/** Whether an event, as the latest of its subject, still needs attention. */
function isOpen({ kind, data }: StoredEvent, now: number): boolean {
  switch (kind) {
    case 'budget.threshold':
    case 'budget.exhausted': {
      const renews = textOf(data, 'renews')
      return renews === '' || Date.parse(renews) > now
    }
    case 'upstream.key_suspended': {
      // An administrator suspends a key on purpose.
      return data['reason'] !== 'operator'
    }
    case 'upstream.exhausted':
    case 'config.refused':
    case 'ledger.differs':
      return true
    default:
      return false
  }
}

function samePeriod(a: StoredEvent, b: StoredEvent): boolean {
  return textOf(a.data, 'renews') === textOf(b.data, 'renews') && a.data['amount'] === b.data['amount']
}

function currentAlerts({ now, webhooks, open, newest, certificateEnds }: CurrentState): readonly Alert[] {
  const alerts: Alert[] = []
  for (const { webhook, waiting, givenUp } of webhooks) {
    if (waiting + givenUp === 0) continue
    // Waiting events resolve themselves; events that were given up stay until they are sent again.
    alerts.push({
      id: `webhook/${webhook}/${newest.undelivered.get(webhook) ?? ''}`,
      kind: 'webhook.failing',
      at: null,
      data: { webhook, waiting, given_up: givenUp },
    })
  }
  const count = open.filter(({ state }) => state === 'needs_review').reduce((sum, one) => sum + one.count, 0)
  if (count > 0) alerts.push({ id: `review/${newest.review ?? 0}`, kind: 'charges.review', at: null, data: { count } })
  if (certificateEnds !== null && certificateEnds - now < certificateSoonMs)
    alerts.push({
      id: `certificate/${certificateEnds}`,
      kind: 'certificate.ends',
      at: null,
      data: { ends: new Date(certificateEnds).toISOString(), is_over: certificateEnds <= now },
    })
  return alerts
}

/**
 * The marks with which an alert was dealt with, the newest first. The newest mark of a lasting alert covers all earlier
 * ones.
 */
export function dealtWith({ id }: Pick<Alert, 'id'>, dealt: readonly Dealt[]): readonly Dealt[] {
  const [subject, mark] = splitMark(id)
  const grows = subject.startsWith('webhook/') || subject.startsWith('review/')
  return dealt
    .filter(({ alert }) => {
      if (!grows) return alert === id
      const [same, to] = splitMark(alert)
      return same === subject && to.length === mark.length && to >= mark
    })
    .toSorted((a, b) => b.at - a.at)
}

/** Ids of lasting alerts end in a mark that increases. */
function splitMark(id: string): readonly [subject: string, mark: string] {
  const end = id.lastIndexOf('/') + 1
  return [id.slice(0, end), id.slice(end)]
}

export function textOf(data: EventData, name: string): string {
  const value = data[name]
  return typeof value === 'string' ? value : ''
}
