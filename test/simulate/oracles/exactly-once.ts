import type { Oracle } from './oracle.ts'

export const exactlyOnce: Oracle = {
  name: 'exactly-once',
  promise:
    'Each settled charge has one entry of its amount, which is the sum of its lines; no entry of a chain is missing.',
  *judge({ stage, books }) {
    const settled = Map.groupBy(
      books.entries.filter(entry => entry['kind'] === 'settle'),
      entry => String(entry['charge_id']),
    )
    const isDecided = (id: string): boolean => stage.decisions.some(one => one.id === id)
    const spent = new Map<unknown, number>()
    for (const [id, charge] of books.charges) {
      const sum = books.linesOf(id).reduce((sum, line) => sum + Number(line['price']), 0)
      // If a person voided the charge, or the deadline did, its lines remain visible.
      const isNothing = charge['state'] === 'voided' && (isDecided(id) || String(charge['reason']).includes('in time'))
      const wantedAmount = isNothing ? 0 : sum
      if (wantedAmount !== charge['amount'])
        yield ['an amount is not the sum of its lines', `${id}: ${charge['amount']}, lines ${sum}`]
      const entries = settled.get(id) ?? []
      const wanted = charge['state'] === 'settled' ? 1 : 0
      if (entries.length !== wanted) yield [`a ${charge['state']} charge has ${entries.length} entries`, id]
      for (const entry of entries) if (entry['amount'] !== charge['amount']) yield ['an entry has another amount', id]
      if (charge['state'] === 'settled') spent.set(charge['key_id'], (spent.get(charge['key_id']) ?? 0) + sum)
    }
    for (const entry of books.entries) {
      if (entry['kind'] !== 'refund') continue
      const key = books.charges.get(String(entry['charge_id']))?.['key_id']
      spent.set(key, (spent.get(key) ?? 0) - Number(entry['amount']))
    }
    for (const key of books.keys) {
      const wanted = spent.get(key['id']) ?? 0
      if (key['spent'] !== wanted)
        yield ['a key has spent another sum', `${key['name']}: ${key['spent']}, not ${wanted}`]
    }
    for (const [chain, entries] of Map.groupBy(books.links, link => link['chain']))
      for (const [i, entry] of entries.entries()) {
        const before = entries[i - 1]
        if (before && entry['prev_hash'] !== before['hash'])
          yield ['a chain is broken', `${chain} ${entry['position']}`]
        if (before && Number(entry['position']) !== Number(before['position']) + 1)
          yield ['an entry is missing', `${chain} ${entry['position']}`]
      }
  },
}
