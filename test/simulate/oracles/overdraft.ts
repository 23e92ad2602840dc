import { type Ask, had, isImages } from '../play/asks.ts'
import { factorOf, imagePrices, isBeyond, tierOf } from '../play/settings.ts'
import type { LiveKey, Stage } from '../play/stage.ts'
import type { Oracle } from './oracle.ts'

export const overdraft: Oracle = {
  name: 'overdraft',
  promise:
    'A budget for images, of a day and of a month too, is never exceeded, save by what is flagged: neither by what was spent and is held nor by what callers have.',
  *judge({ stage }) {
    lookForOverdrafts(stage)
    for (const { problem, at, when } of stage.overdrafts)
      yield [`more is spent and held than the budget for a ${when}`, `${problem} at ${at}`]
    for (const [number, key] of stage.keys.entries()) {
      if (!bounds(key) || key.period !== 'total' || key.lost) continue
      const worth = stage.asks
        .filter(ask => ask.wish.key === number && isImages(ask) && ask.first === ask)
        .filter(ask => !ask.wish.model.startsWith('beta'))
        .reduce((sum, ask) => sum + worthOf(stage, ask), 0)
      const refunded = Number(
        stage.look(
          `SELECT coalesce(sum(e.amount), 0) AS n FROM entry e JOIN charge c ON c.id = e.charge_id
          WHERE e.kind = 'refund' AND c.key_id = ?`,
          key.id,
        )[0]?.['n'],
      )
      if (worth > mostOf(stage, number) + refunded)
        yield ['callers have pictures for more than the budget', `key ${number}: ${worth}, refunded ${refunded}`]
    }
  },
}

/** The value of what an ask's caller has received, at the lowest prices in use. */
function worthOf(stage: Stage, ask: Ask): number {
  const inUse = stage.settingsOf(ask)
  const factor = Math.min(...inUse.map(settings => factorOf(ask.wish.model, settings)))
  return had(ask).reduce((sum, one) => {
    const tier = tierOf(Math.max(one.width, one.height))
    // A larger image's cost beyond its hold is flagged, and the oracle `price` checks it.
    return sum + imagePrices[isBeyond(ask.wish.model, tier) ? '2K' : tier] * factor
  }, 0)
}

/**
 * Leaves out the charges in the first list. For each key in the second, `[id, since]`: charges since then, and holds,
 * by lines and holds. A charge with an image larger than its family expects counts at most its hold. Each table is read
 * once for all keys, because this check runs hundreds of times in a story.
 */
const spent = `WITH larger AS (SELECT DISTINCT charge_id AS id FROM line WHERE flags LIKE '%larger_than_expected%'),
  refunds AS (SELECT charge_id AS id, sum(amount) AS amount FROM entry WHERE kind = 'refund' GROUP BY charge_id),
  cost AS MATERIALIZED (SELECT c.key_id, c.state, c.kept, c.hold, c.ended_at, coalesce(r.amount, 0) AS refunded,
      CASE WHEN l.id IS NULL THEN c.amount ELSE min(c.hold, c.amount) END AS amount
    FROM charge c LEFT JOIN larger l ON l.id = c.id LEFT JOIN refunds r ON r.id = c.id
    WHERE c.id NOT IN (SELECT value FROM json_each(?)))
  SELECT bound.key AS place, sum(CASE state WHEN 'reserved' THEN max(hold, amount)
      WHEN 'needs_review' THEN CASE kept WHEN 1 THEN hold ELSE 0 END
      WHEN 'settled' THEN CASE WHEN ended_at >= json_extract(bound.value, '$[1]') THEN amount - refunded ELSE 0 END
      ELSE 0 END) AS sum
    FROM json_each(?) bound LEFT JOIN cost ON cost.key_id = json_extract(bound.value, '$[0]')
    GROUP BY bound.key ORDER BY bound.key`

/**
 * Checked repeatedly: the sum of all charges, within the current day or month for such budgets, and of all holds. A
 * person's decision about a charge without a hold is that person's responsibility.
 */
export function lookForOverdrafts(stage: Stage): void {
  const decided = JSON.stringify(stage.decisions.flatMap(one => (one.how === 'settle' ? [one.id] : [])))
  const bounded = [...stage.keys.entries()].flatMap(([number, key]) => {
    const since = sinceOf(stage, key)
    return bounds(key) && since !== undefined ? [{ number, key, since }] : []
  })
  if (bounded.length === 0) return
  const wanted = JSON.stringify(bounded.map(({ key, since }) => [key.id, since]))
  for (const { place, sum } of stage.look(spent, decided, wanted)) {
    const { number, key } = bounded[Number(place)] as (typeof bounded)[number]
    const most = mostOf(stage, number)
    if (Number(sum) > most)
      stage.overdrafts.push({
        at: stage.world.time.tick,
        when: key.period,
        problem: `key ${number}: ${sum} of ${most} in a ${key.period}`,
      })
  }
}

/** The wall time from which spend counts; undefined if a large clock jump back makes it ambiguous. */
function sinceOf(stage: Stage, { period }: LiveKey): number | undefined {
  if (period === 'total') return 0
  if (stage.hasJumpedFarBack) return undefined
  return Math.max(beginOf(period, stage.world.time.wall), stage.jumpedTo)
}

function beginOf(period: Exclude<LiveKey['period'], 'total'>, wall: number): number {
  const date = new Date(wall)
  if (period === 'month') return Date.parse(`${date.toISOString().slice(0, 7)}-01`)
  const today = Date.parse(date.toISOString().slice(0, 10))
  if (period === 'day') return today
  return today - (period === '7d' ? 6 : (date.getUTCDay() + 6) % 7) * 86_400_000
}

function bounds(key: LiveKey): boolean {
  return key.budget !== null && !key.uses.includes('chat')
}

/** The highest possible budget: a change with an uncertain commit may have happened. */
function mostOf(stage: Stage, number: number): number {
  return Math.max(stage.keys[number]?.budget ?? 0, stage.keys[number]?.now ?? 0)
}
