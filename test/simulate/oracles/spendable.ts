import { codeOf } from '../play/asks.ts'
import { factorOf, imagePrices } from '../play/settings.ts'
import type { Oracle } from './oracle.ts'

export const spendable: Oracle = {
  name: 'spendable',
  promise: 'Money that is free can be spent: now, or in the next day or month of a budget that begins anew.',
  *judge({ stage, probes }) {
    for (const { period, free, status, code } of probes)
      if (status !== 200)
        yield [`a budget for a ${period} is frozen: ${status} ${code ?? ''}`, `${free} micro-units should be free`]
    // Refused although even the highest possible cost of all earlier requests leaves room.
    for (const ask of stage.asks) {
      const key = stage.keys[ask.wish.key]
      if (!key || key.budget === null || key.period !== 'total' || key.uses.includes('chat')) continue
      if (codeOf(ask) !== 'insufficient_quota') continue
      const before = stage.asks.filter(
        one => one.wish.key === ask.wish.key && one.sentAt <= (ask.endedAt ?? Infinity) && one !== ask,
      )
      const dearest = (one: typeof ask): number =>
        Math.max(...stage.settingsBetween(0).map(settings => factorOf(one.wish.model, settings))) * imagePrices['4K']
      const most = [...before, ask].reduce((sum, one) => sum + one.wish.n * dearest(one), 0)
      if (most <= key.budget) yield ['refused where there was money', `ask ${ask.no}: ${most} of ${key.budget}`]
    }
  },
}
