import { lastMonth, showWhatIf } from '../../domain/index.ts'
import { isZone } from '../../util/index.ts'
import { costUnderAnswer } from '../response-schemas.ts'
import { type AdminRequest, defineRoute } from '../api.ts'
import { type Edits, editsOf, refuseEdit } from '../config-edits.ts'
import { findingRecord } from '../finding-record.ts'
import { refuse } from '../reasons.ts'
import { moment } from '../schemas.ts'
import { WorkQueue } from '../work-queue.ts'

const textBytesMax = 1024 * 1024

/** One instance for each gateway. Its computations wait for each other: each reads all charges of its time range. */
export function configCostRoutes() {
  const queue = new WorkQueue()
  return [
    defineRoute({
      method: 'POST',
      url: '/api/config/cost',
      access: 'admin',
      summary:
        'Calculate what the charges of a period would cost under another configuration text or a change to the files. The default is the previous month. Nothing is changed.',
      body: {
        type: 'object',
        additionalProperties: false,
        properties: {
          text: {
            type: 'string',
            maxLength: textBytesMax,
            description: 'A whole configuration. Send either `text` or `edits`.',
          },
          edits: {
            ...editsOf,
            description:
              'Changes of models and groups, as in `POST /api/config/propose`. Send either `text` or `edits`.',
          },
          since: { ...moment, description: 'Start of the period. Absent, together with `until`: the previous month.' },
          until: {
            ...moment,
            description: 'End of the period, exclusive. The default is now, if the request has `since`.',
          },
          zone: {
            type: 'string',
            minLength: 1,
            maxLength: 200,
            description:
              'Time zone of the previous month, if the request has no `since`. The default is `budgets.time_zone`.',
          },
        },
      },
      bodyBytesMax: textBytesMax,
      answer: costUnderAnswer,
      async handle(request) {
        const terms = termsOf(request)
        const span = spanOf(request)
        const found = await queue.run(() => request.parts.costUnder(terms, span, request.left))
        if ('why' in found) throw refuseEdit(found)
        return found.ok
          ? { ok: true, ...showWhatIf(found.costs) }
          : { ok: false, findings: found.findings.map(findingRecord) }
      },
    }),
  ]
}

type Terms = { readonly text?: string; readonly edits?: unknown }

/** @throws Failure unless exactly one of the two is given */
function termsOf({
  body: { text, edits },
}: AdminRequest<unknown, Terms>): { readonly text: string } | { readonly edits: Edits } {
  if (text !== undefined && edits === undefined) return { text }
  if (edits !== undefined && text === undefined) return { edits: edits as Edits }
  throw refuse('invalid', 'text_or_edits', {}, { param: 'text' })
}

type CostPeriod = { readonly since?: string; readonly until?: string; readonly zone?: string }

/** @throws Failure for an incomplete range, an end before the start, or an invalid time zone */
export function spanOf({ body, parts }: AdminRequest<unknown, CostPeriod>): {
  readonly since: number
  readonly until: number
} {
  const zone = body.zone ?? parts.plan().timeZone
  if (!isZone(zone)) throw refuse('invalid', 'zone', {}, { param: 'zone' })
  if (body.since === undefined && body.until === undefined) {
    const { from, until } = lastMonth(zone, parts.clock.now())
    return { since: from, until }
  }
  const since = body.since === undefined ? Number.NaN : Date.parse(body.since)
  const until = body.until === undefined ? parts.clock.now() : Date.parse(body.until)
  if (!(since < until)) throw refuse('invalid', 'span', {}, { param: 'since' })
  return { since, until }
}
