import { chargerOf, type RatedImages, type Saving, shortPlace } from '../../domain/index.ts'
import { beginningOf, formatMoney } from '../../util/index.ts'
import { avoidableAnswer } from '../response-schemas.ts'
import { type AdminRequest, defineRoute } from '../api.ts'
import { costQuery, costWheres, dayMs, daysOf } from '../cost-query.ts'
import { refuse } from '../reasons.ts'
import { toMoment } from '../to-moment.ts'

const daysMax = 400
/** The maximum number of savings; the largest are shown. */
const shownMax = 20

export const avoidableRoutes = [
  defineRoute({
    method: 'GET',
    url: '/api/costs/avoidable',
    access: 'user',
    summary:
      "Get the avoidable cost of images and the size to request instead. Administrators get everyone's, others their own.",
    query: { type: 'object', additionalProperties: false, properties: costQuery },
    answer: avoidableAnswer,
    async handle(request) {
      const { query, parts } = request
      const [first, last] = daysOf(query, parts.clock.now())
      if ((last - first) / dayMs >= daysMax) throw refuse('invalid', 'range', { days: daysMax }, { param: 'to' })
      const [since, until] = [beginningOf(query.zone, first), beginningOf(query.zone, last + dayMs)]
      const { journal } = parts.storage
      const rated = await Promise.all(costWheres(request).map(async where => journal.rated({ since, until, where })))
      const found = savingsOf(request, rated.flat())
      const sums = new Map<string, number>()
      for (const { currency, saved } of found) sums.set(currency, (sums.get(currency) ?? 0) + saved)
      return {
        since: toMoment(since),
        until: toMoment(until),
        looked_since: null,
        saved: [...sums].map(([currency, amount]) => ({ currency, amount: formatMoney(amount) })),
        rows: found.slice(0, shownMax).map(show),
      }
    },
  }),
]

type Found = Pick<RatedImages, 'model' | 'size' | 'currency'> &
  Omit<Saving, 'amount' | 'at'> & {
    readonly source: string
    readonly at: string | null
    images: number
    charged: number
    saved: number
  }

/** Possible savings, the largest first. The plugins that made the charges compute them. */
function savingsOf({ parts }: AdminRequest, rows: readonly RatedImages[]): readonly Found[] {
  const { models, plugins } = parts.plan()
  const { known } = plugins
  const found = new Map<string, Found>()
  for (const { model, size, currency, rule, line, images } of rows) {
    const saving = chargerOf(known, { rule })?.avoidable?.(rule, line)
    if (!saving) continue
    // The line of the price may be in an earlier file, so rows that differ only in it are merged.
    const { amount, at: _, ...what } = saving
    const { source } = line
    const origin = models.get(model)?.prices.get(saving.billed)?.origin
    const at = origin ? shortPlace(`${origin.file}:${origin.line}`) : null
    const place = JSON.stringify([model, size, currency, source, what])
    const one = found.get(place) ?? { model, size, currency, source, at, ...what, images: 0, charged: 0, saved: 0 }
    one.images += images
    one.charged += images * line.price
    one.saved += images * amount
    found.set(place, one)
  }
  return [...found.values()].sort((a, b) => b.saved - a.saved || (a.model < b.model ? -1 : 1))
}

function show({ charged, saved, ...same }: Found) {
  return { ...same, charged: formatMoney(charged), saved: formatMoney(saved) }
}
