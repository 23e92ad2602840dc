import { readCurrentState, stillOpen } from '../current-state.ts'
import { type Alert, dealtWith, findAlerts } from '../alerts.ts'
import { alertsAnswer } from '../response-schemas.ts'
import { type AdminRequest, defineRoute } from '../api.ts'
import { may } from '../duties.ts'
import { fail } from '../errors.ts'
import { sessionUserOf } from '../session-user.ts'
import { toMoment } from '../to-moment.ts'

/** Alerts for billing users. All others reveal the configuration of the gateway. */
const ofMoney: ReadonlySet<Alert['kind']> = new Set([
  'budget.threshold',
  'budget.exhausted',
  'ledger.differs',
  'charges.review',
])

async function alertsFor(request: AdminRequest) {
  const { parts } = request
  const { watch, events, books } = parts.storage
  const [{ events: latest, dealt, newest }, webhooks, open] = await Promise.all([
    watch.alerts(),
    events.webhooks.list(),
    books.open(),
  ])
  // A receiver that was removed from the file gets no events, so it no longer fails.
  const receivers = parts.plan().webhooks
  const status = {
    now: parts.clock.now(),
    webhooks: webhooks.filter(({ webhook }) => receivers?.has(webhook) === true),
    open,
    newest,
    certificateEnds: parts.facts.certificateEnds(),
  }
  const sees = may(sessionUserOf(request).user, 'operators')
  const found = findAlerts(latest, status).filter(({ kind }) => sees || ofMoney.has(kind))
  const alerts = stillOpen(found, await readCurrentState(parts, found)).map(({ id, kind, at, data }) => {
    const [by] = dealtWith({ id }, dealt)
    return {
      id,
      kind,
      time: at === null ? null : toMoment(at),
      data,
      dealt: by ? { by: by.by, at: toMoment(by.at) } : null,
    }
  })
  return { alerts, open: alerts.filter(one => one.dealt === null).length }
}

export const alertRoutes = [
  defineRoute({
    method: 'GET',
    url: '/api/alerts',
    access: 'readers',
    summary: 'List alerts: budgets, vendor keys, webhooks, the ledger, the configuration, the certificate.',
    answer: alertsAnswer,
    handle: alertsFor,
  }),
  defineRoute({
    method: 'POST',
    url: '/api/alerts/dealt',
    access: 'admin',
    summary: 'Acknowledge an alert for everyone, or reopen it.',
    body: {
      type: 'object',
      additionalProperties: false,
      required: ['id', 'dealt'],
      properties: { id: { type: 'string', minLength: 1, maxLength: 200 }, dealt: { type: 'boolean' } },
    },
    answer: alertsAnswer,
    async handle(request) {
      const { id, dealt } = request.body
      const { watch } = request.parts.storage
      const { alerts } = await alertsFor(request)
      if (!alerts.some(one => one.id === id)) throw fail('not_found')
      const by = sessionUserOf(request).user.name
      // A mark of a later alert counts too, so all of them are removed.
      const marks = dealt ? [id] : dealtWith({ id }, (await watch.alerts()).dealt).map(({ alert }) => alert)
      for (const mark of marks) await watch.deal(mark, dealt, by)
      return alertsFor(request)
    },
  }),
]
