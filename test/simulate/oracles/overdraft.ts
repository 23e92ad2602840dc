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

/** What an ask's caller has, by the lowest prices that were in use. */
function worthOf(stage: Stage, ask: Ask): number {
  const inUse = stage.settingsOf(ask)
  const factor = Math.min(...inUse.map(settings => factorOf(ask.wish.model, settings)))
  return had(ask).reduce((sum, one) => {
    const tier = tierOf(Math.max(one.width, one.height))
    // What a larger image costs beyond its hold is flagged, and `price` looks at that.
    return sum + imagePrices[isBeyond(ask.wish.model, tier) ? '2K' : tier] * factor
  }, 0)
}

/** What was charged; of a charge with an image that is larger than its family expects no more than its hold. */
const withinHold = `CASE WHEN EXISTS (SELECT 1 FROM line l WHERE l.charge_id = charge.id
  AND l.flags LIKE '%larger_than_expected%') THEN min(hold, amount) ELSE amount END`

/**
 * Checked again and again: the sum of what was charged, in the day or the month that it is where the budget is for one, and of
 * what is held, by lines and holds. What a person decided of a charge that held nothing any more is theirs to answer for.
 */
export function lookForOverdrafts(stage: Stage): void {
  const decided = JSON.stringify(stage.decisions.flatMap(one => (one.how === 'settle' ? [one.id] : [])))
  for (const [number, key] of stage.keys.entries()) {
    const since = sinceOf(stage, key)
    if (!bounds(key) || since === undefined) continue
    const [row] = stage.look(
      `SELECT coalesce(sum(CASE state WHEN 'reserved' THEN max(hold, ${withinHold})
           WHEN 'needs_review' THEN CASE kept WHEN 1 THEN hold ELSE 0 END
           WHEN 'settled' THEN CASE WHEN ended_at >= ? THEN ${withinHold} - coalesce((SELECT sum(e.amount) FROM entry e
             WHERE e.charge_id = charge.id AND e.kind = 'refund'), 0) ELSE 0 END ELSE 0 END), 0) AS sum
       FROM charge WHERE key_id = ? AND id NOT IN (SELECT value FROM json_each(?))`,
      since,
      key.id,
      decided,
    )
    const sum = Number(row?.['sum'])
    const most = mostOf(stage, number)
    if (sum > most)
      stage.overdrafts.push({
        at: stage.world.time.tick,
        when: key.period,
        problem: `key ${number}: ${sum} of ${most} in a ${key.period}`,
      })
  }
}

/** From when on what was spent counts, by the clock on the wall; undefined where a clock that went far back leaves that open. */
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

/** The most that the budget may have been: a change whose commit was in doubt may have happened. */
function mostOf(stage: Stage, number: number): number {
  return Math.max(stage.keys[number]?.budget ?? 0, stage.keys[number]?.now ?? 0)
}
