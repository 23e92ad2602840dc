import {
  accountsOf,
  balancesOf,
  balanceTable,
  isOfLabel,
  labelKinds,
  readMonth,
  showStatement,
  splitStatement,
  splitTable,
  statementTable,
} from '../../domain/index.ts'
import { csvFile, formatIn, isZone } from '../../util/index.ts'
import { statementAnswer } from '../response-schemas.ts'
import { defineRoute, Reply } from '../api.ts'
import { fail } from '../errors.ts'
import { refuse } from '../reasons.ts'
import { month } from '../schemas.ts'
import { ownerOf } from '../session-user.ts'
import { WorkQueue } from '../work-queue.ts'

const word = { type: 'string', minLength: 1, maxLength: 200 } as const

/** One instance for each gateway. Its statements wait for each other: each reads the whole ledger. */
export function statementRoutes() {
  const queue = new WorkQueue()
  return [
    defineRoute({
      method: 'GET',
      url: '/api/statements',
      access: 'user',
      summary:
        "Get the statement of a month by user and group, reconciled with the ledger. Administrators get everyone's, others their own.",
      query: {
        type: 'object',
        additionalProperties: false,
        properties: {
          month,
          zone: { ...word, default: 'UTC', description: 'IANA time zone of the month, such as Europe/Berlin.' },
          user: word,
          group: word,
          end_user: { ...word, description: 'Only charges of this end user.' },
          tag: { ...word, description: 'Only charges with this tag.' },
          format: { type: 'string', enum: ['json', 'csv'], default: 'json' },
          of: {
            type: 'string',
            enum: ['charges', 'balances'],
            default: 'charges',
            description: 'Content of the CSV. JSON contains both.',
          },
          by: {
            type: 'string',
            enum: labelKinds,
            description:
              'Adds `labels`: the month by end user or tag. The CSV of charges then has a row for each label.',
          },
        },
      },
      answer: statementAnswer,
      async handle(request) {
        const { month: wanted, zone, group, format, of, user, by, end_user: endUser, tag } = request.query
        const labels = { endUser, tag }
        const owner = ownerOf(request)
        if (owner !== undefined && user !== undefined && user !== owner) throw fail('forbidden', {}, { param: 'user' })
        if (!isZone(zone)) throw refuse('invalid', 'zone', {}, { param: 'zone' })
        const span = readMonth(wanted ?? formatIn(zone, request.parts.clock.now()).slice(0, 7), zone)
        if (!span) throw refuse('invalid', 'month', { field: 'month' }, { param: 'month' })
        // There are no balances and no sums by label for one end user or tag.
        if (isOfLabel(labels) && (by !== undefined || of === 'balances'))
          throw refuse('invalid', 'statement_labels', {}, { param: by === undefined ? 'of' : 'by' })
        const found = await queue.run(async () => request.parts.storage.books.statement({ ...span, ...labels }))
        const accounts = accountsOf(found, { user: owner ?? user, group })
        const balances = isOfLabel(labels) ? [] : balancesOf(found.balances, { user: owner ?? user, group })
        const split = await splitStatement(request.parts.storage, span, { by, user: owner ?? user, group })
        const { currency, organization } = request.parts.plan()
        const now = request.parts.clock.now()
        if (format === 'json')
          return showStatement(span, found, { accounts, balances, currency, organization, split, labels, now })
        const headers = {
          'content-type': 'text/csv; charset=utf-8',
          'content-disposition': `attachment; filename="tollgate-${of === 'balances' ? 'balances' : 'statement'}-${span.month}.csv"`,
        }
        const table =
          of === 'balances'
            ? balanceTable(span.month, currency, balances)
            : split
              ? splitTable(span.month, split)
              : statementTable(span, accounts)
        return new Reply(200, headers, csvFile(table))
      },
    }),
  ]
}
