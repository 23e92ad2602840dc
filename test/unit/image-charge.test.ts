import t from 'tap'
import { type ChargeTerms, ImageCharge } from '../../plugins/image-tier-billing/image-charge.ts'
import type { ChargeItem, Clock, Ledger } from '../../src/plugin-api/index.ts'

/** An answer whose tokens are charged when it is complete, and whose images were written before. */
const terms = {
  id: 'chg_1',
  onCallerGone: 'bill',
  linesBefore: 1,
  metadata: () => ({
    facts: new Map([['usage.tokens', '100']]),
    factsAt: new Map(),
    sizes: new Map(),
    heads: new Map(),
  }),
  rule: {
    facts: ['usage.tokens'],
    lines: [{ name: 'tokens', per: 'unit', unit: 1, price: 2, once: true, from: 'usage.tokens' }],
  },
} as unknown as ChargeTerms

t.test('items of a complete answer are written later if the ledger failed when it ended', async t => {
  let now = 0
  const clock = { tick: () => now, sleep: async (ms: number) => void (now += ms) } as Clock
  let isDown = true
  const written: ChargeItem[] = []
  const ledger = {
    healthy: () => !isDown,
    async line(_id, item) {
      if (isDown) throw new Error('the disk is full')
      written[item.index] = item
      return true
    },
    settle: async () => true,
  } as Partial<Ledger> as Ledger
  const charge = new ImageCharge(ledger, terms, clock)
  await t.rejects(charge.finish(undefined), { code: 'charge_not_recorded' })
  t.same(written, [])
  isDown = false
  await charge.settle({ kind: 'cut', by: 'gateway', status: 200, reach: 'truncated' })
  t.match(written, [{ tier: 'tokens', quantity: 100, price: 200 }])
})
