import { had, isImages } from '../play/asks.ts'
import { imagePrices, tierOf } from '../play/settings.ts'
import type { LiveKey, Stage } from '../play/stage.ts'
import type { Oracle } from './oracle.ts'

export const overdraft: Oracle = {
  name: 'overdraft',
  promise: 'A budget for images is never exceeded, neither by what was spent and is held nor by what callers have.',
  *judge({ stage }) {
    lookForOverdrafts(stage)
    for (const { problem, at } of stage.overdrafts)
      yield ['more is spent and held than the budget', `${problem} at ${at}`]
    for (const [number, key] of stage.keys.entries()) {
      if (!bounds(key) || key.period !== 'total' || key.lost) continue
      const worth = stage.asks
        .filter(ask => ask.wish.key === number && isImages(ask) && ask.first === ask)
        .filter(ask => !ask.wish.model.startsWith('beta'))
        .flatMap(ask => had(ask))
        .reduce((sum, one) => sum + imagePrices[tierOf(Math.max(one.width, one.height))], 0)
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

/** Checked after each operation: the sum of what was charged and of what is held for what is under way, by lines and holds. */
export function lookForOverdrafts(stage: Stage): void {
  for (const [number, key] of stage.keys.entries()) {
    if (!bounds(key) || key.period !== 'total') continue
    const [row] = stage.look(
      `SELECT (SELECT coalesce(sum(CASE state WHEN 'reserved' THEN max(hold, amount) WHEN 'settled' THEN amount ELSE 0 END), 0)
           FROM charge WHERE key_id = ?)
         - (SELECT coalesce(sum(e.amount), 0) FROM entry e JOIN charge c ON c.id = e.charge_id
           WHERE e.kind = 'refund' AND c.key_id = ?) AS sum`,
      key.id,
      key.id,
    )
    const sum = Number(row?.['sum'])
    const most = mostOf(stage, number)
    if (sum > most)
      stage.overdrafts.push({ at: stage.world.time.tick, when: '', problem: `key ${number}: ${sum} of ${most}` })
  }
}

function bounds(key: LiveKey): boolean {
  return key.budget !== null && !key.uses.includes('chat')
}

/** The most that the budget may have been: a change whose commit was in doubt may have happened. */
function mostOf(stage: Stage, number: number): number {
  return Math.max(stage.keys[number]?.budget ?? 0, stage.keys[number]?.now ?? 0)
}
