import type { Due, Retry, Deliveries, WebhookState } from '../../domain/index.ts'
import { ask, type QueryProgram, type Row } from '../query.ts'
import { text, whole, wholeOrNull } from '../rows.ts'
import type { WriterIdentity } from '../writer-identity.ts'
import { arrangeEvents } from './arrange.ts'
import { endFrom } from './read.ts'

/** A process that sends to a receiver has a lease; it sends nothing after the lease ends. */
const claim = `UPDATE webhook SET owner = ?, epoch = ? WHERE name = ? AND (owner = ? AND epoch = ? OR NOT EXISTS
  (SELECT 1 FROM replica r WHERE r.owner = webhook.owner AND r.epoch = webhook.epoch)) RETURNING through`
const keep = `UPDATE webhook SET through = ? WHERE name = ? AND through = ? AND owner = ? AND epoch = ? RETURNING name`
const putRetry = `INSERT INTO webhook_retry (webhook, event, tries, next_at, at, why) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (webhook, event) DO UPDATE SET tries = excluded.tries, next_at = excluded.next_at, at = excluded.at,
    why = excluded.why`

export function* claimWebhook(
  { owner, epoch }: WriterIdentity,
  { webhook, at }: { readonly webhook: string; readonly at: number },
): QueryProgram<{ readonly through: string } | null> {
  const known = yield ask('SELECT owner, epoch, through FROM webhook WHERE name = ?', webhook)
  if (known.length === 0) {
    yield* arrangeEvents(at)
    yield ask(
      'INSERT INTO webhook (name, through, owner, epoch) VALUES (?, ?, ?, ?) ON CONFLICT (name) DO NOTHING',
      webhook,
      yield* endFrom(),
      owner,
      epoch,
    )
  }
  const [row] = yield ask(claim, owner, epoch, webhook, owner, epoch)
  return row ? { through: text(row, 'through') } : null
}

export function* readDue(webhook: string, at: number, limit: number): QueryProgram<Due> {
  const [own] = yield ask('SELECT through FROM webhook WHERE name = ?', webhook)
  const rows = yield ask(
    'SELECT * FROM webhook_retry WHERE webhook = ? AND next_at <= ? ORDER BY event LIMIT ?',
    webhook,
    at,
    limit,
  )
  const [count] = yield ask(
    'SELECT count(*) AS waiting FROM webhook_retry WHERE webhook = ? AND next_at IS NOT NULL',
    webhook,
  )
  return {
    through: own ? text(own, 'through') : null,
    due: rows.map(toRetry),
    waiting: count ? whole(count, 'waiting') : 0,
  }
}

function toRetry(row: Row): Retry {
  return {
    event: text(row, 'event'),
    tries: whole(row, 'tries'),
    nextAt: wholeOrNull(row, 'next_at'),
    why: text(row, 'why'),
  }
}

export function* writeDelivery(
  { owner, epoch }: WriterIdentity,
  { deliveries, at }: { readonly deliveries: Deliveries; readonly at: number },
): QueryProgram<boolean> {
  const { webhook, from, through, arrived, retries, isBack } = deliveries
  const [own] = yield ask(keep, through, webhook, from, owner, epoch)
  if (!own) return false
  for (const event of arrived) yield ask('DELETE FROM webhook_retry WHERE webhook = ? AND event = ?', webhook, event)
  if (isBack) yield ask('UPDATE webhook_retry SET next_at = ? WHERE webhook = ? AND next_at > ?', at, webhook, at)
  for (const { event, tries, nextAt, why } of retries) yield ask(putRetry, webhook, event, tries, nextAt, at, why)
  return true
}

export function* queueRedelivery({
  webhook,
  which,
  at,
}: {
  readonly webhook: string
  readonly which: { readonly id: string } | { readonly after: string }
  readonly at: number
}): QueryProgram<boolean> {
  const known = yield ask('SELECT name FROM webhook WHERE name = ?', webhook)
  if (known.length === 0) return false
  if ('id' in which) yield ask(putRetry, webhook, which.id, 0, at, at, 'redelivery requested')
  else yield ask('UPDATE webhook SET through = ? WHERE name = ?', which.after, webhook)
  return true
}

export function* listWebhooks(): QueryProgram<readonly WebhookState[]> {
  const rows = yield ask(
    `SELECT w.name, w.through, count(r.next_at) AS waiting, count(r.event) - count(r.next_at) AS given_up
     FROM webhook w LEFT JOIN webhook_retry r ON r.webhook = w.name GROUP BY w.name, w.through ORDER BY w.name`,
  )
  return rows.map(row => ({
    webhook: text(row, 'name'),
    through: text(row, 'through'),
    waiting: whole(row, 'waiting'),
    givenUp: whole(row, 'given_up'),
  }))
}
