import type { Oracle } from './oracle.ts'

export const stuckMoney: Oracle = {
  name: 'stuck-money',
  promise: 'Twenty minutes after the last request nothing is reserved, and money is held for charges in review alone.',
  *judge({ books }) {
    const inReview = new Map<unknown, number>()
    for (const charge of books.charges.values()) {
      if (charge['state'] === 'reserved') yield ['a charge is still reserved', String(charge['id'])]
      if (charge['state'] !== 'needs_review') continue
      inReview.set(charge['key_id'], (inReview.get(charge['key_id']) ?? 0) + Number(charge['hold']))
    }
    for (const key of books.keys) {
      const held = Number(key['held'])
      const most = inReview.get(key['id']) ?? 0
      if (held > most) yield ['a key holds money for nothing', `${key['name']}: ${held} held, ${most} in review`]
    }
  },
}
