import t from 'tap'
import type { EndedCharge, Key, Ledger } from '../../src/domain/index.ts'
import { watchCharges } from '../../src/observe/watch-charges.ts'
import { facts, line } from '../contract/storage.ts'

t.test('a charge event has the upstream that sold it, if it is another than the first', async t => {
  const ended: EndedCharge[] = []
  const ledger: Partial<Ledger> = {
    hold: async () => ({ kind: 'held' }) as never,
    line: async () => true,
    settle: async () => true,
    review: async () => true,
  }
  const watched = watchCharges(ledger as Ledger, charge => void ended.push(charge))
  for (const id of ['one', 'two', 'three', 'four']) {
    await watched.ledger.hold({ facts: facts({ id: 'key' } as Key, { id }) } as never)
    await watched.ledger.line(id, line(0))
  }
  await watched.ledger.settle({ id: 'one', delivery: 'complete', reason: null, upstream: 'beta' } as never)
  await watched.ledger.settle({ id: 'two', delivery: 'complete', reason: null } as never)
  await watched.ledger.review('three', 'odd', { hold: 'kept', lined: true, upstream: 'beta' })
  await watched.ledger.review('four', 'odd')
  t.same(
    ended.map(({ id, state, upstream }) => [id, state, upstream]),
    [
      ['one', 'settled', 'beta'],
      ['two', 'settled', 'alpha'],
      ['three', 'needs_review', 'beta'],
      ['four', 'needs_review', 'alpha'],
    ],
  )
})
