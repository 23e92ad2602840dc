import type { Test } from 'tap'
import type { Counters, LimitRequest, LimitReservation, Ticket } from '../../src/domain/index.ts'
import type { Clock } from '../../src/util/index.ts'
import { HandClock } from '../harness/request-context.ts'
import { seeded } from '../harness/seed.ts'

const minute = 60_000

/** Opens empty counters of its own whose time is `clock`. */
export type OpenCounters = (clock: Clock) => Promise<Counters>

let ids = 0

/** Returns an id that no other test uses. */
export function fresh(name = 'limit'): string {
  return `${name} ${process.pid} ${++ids}`
}

export function window(limit: number, amount = 1, more: Partial<LimitRequest> = {}): LimitRequest {
  return { id: fresh(), kind: 'window', limit, amount, shadow: false, ...more }
}

export function places(limit: number, more: Partial<LimitRequest> = {}): LimitRequest {
  return { id: fresh('places'), kind: 'places', limit, amount: 1, shadow: false, ...more }
}

/** @throws Error when nothing was taken */
export function ticketOf({ ticket }: LimitReservation): Ticket {
  if (!ticket) throw new Error('nothing was taken')
  return ticket
}

/** Tests of the counters, for every driver. */
export function countersContract(
  t: Test,
  open: OpenCounters,
  size: { readonly repeats: number; readonly steps: number },
) {
  const setUp = async () => {
    const clock = new HandClock()
    // The clock does not start at zero: a driver might treat a time of 0 as unset.
    clock.move(1e9)
    const counters = await open(clock)
    return {
      clock,
      counters,
      take: async (...demands: readonly LimitRequest[]): Promise<LimitReservation> => counters.take(demands, 'refuse'),
      /** How many of `n` at once are admitted. */
      count: async (n: number, ...demands: readonly LimitRequest[]): Promise<number> => {
        const takings = await Promise.all(Array.from({ length: n }, async () => counters.take(demands, 'refuse')))
        return takings.filter(({ ticket }) => ticket).length
      },
    }
  }

  t.test('admits exactly 100 of 1,000 concurrent requests at a limit of 100 [R1]', async t => {
    const { count } = await setUp()
    const admitted = new Set<number>()
    for (let i = 0; i < size.repeats; i++) admitted.add(await count(1_000, window(100)))
    t.same([...admitted], [100])
    t.equal(await count(1_000, places(100)), 100)
  })

  t.test(
    'any 60 seconds of a random schedule of 10 minutes admit at most the limit, in requests and tokens [R3]',
    async t => {
      const seed = Date.now() % 2 ** 31
      t.comment(`seed ${seed}`)
      const random = seeded(seed)
      for (const [limit, amountMax] of [
        [7, 1],
        [60, 1],
        [1_000, 400],
      ] as const) {
        const { clock, take } = await setUp()
        const id = fresh()
        const admitted: { at: number; amount: number }[] = []
        const start = clock.tick()
        while (clock.tick() - start < 10 * minute) {
          const step = random()
          clock.move(step < 0.55 ? random() * 30 : step < 0.99 ? random() * ((10 * minute * 4) / size.steps) : minute)
          // The wall clock does not affect the counters.
          clock.jump((random() - 0.5) * 7_200_000)
          const amount = 1 + Math.floor(random() * amountMax)
          const { ticket } = await take({ id, kind: 'window', limit, amount, shadow: false })
          if (ticket) admitted.push({ at: clock.tick(), amount })
        }
        let most = 0
        let sum = 0
        for (let from = 0, to = 0; to < admitted.length; to++) {
          sum += admitted[to]?.amount ?? 0
          for (; (admitted[to]?.at ?? 0) - (admitted[from]?.at ?? 0) >= minute; from++)
            sum -= admitted[from]?.amount ?? 0
          most = Math.max(most, sum)
        }
        t.ok(most <= limit && most > limit * 0.7, `limit ${limit}: ${most} at most, ${admitted.length} admitted`)
      }
    },
  )

  t.test('a refusal by one limit takes nothing from the others [R4] [R6]', async t => {
    const { count } = await setUp()
    const [requests, tokens, inFlight] = [window(10), window(1_000, 100), places(4)]
    t.equal(await count(20, requests, tokens, inFlight), 4, 'the places are full')
    t.equal(await count(20, requests, tokens), 6, 'and took none of the six requests')
    t.equal(await count(20, tokens), 0)
    const full = window(1)
    t.equal(await count(5, full), 1)
    const other = window(3)
    t.equal(await count(5, other, full), 0)
    t.equal(await count(5, other), 3)
  })

  t.test('a client that waits the reported time is admitted, and none that waits half of it [R5]', async t => {
    const seed = Date.now() % 2 ** 31
    t.comment(`seed ${seed}`)
    const random = seeded(seed)
    const { clock, take } = await setUp()
    let admitted = 0
    for (let i = 0; i < 100; i++) {
      const [requests, tokens] = [window(1 + Math.floor(random() * 5)), window(100)]
      let waitMs = 0
      let demands: LimitRequest[] = []
      while (waitMs === 0) {
        demands = [requests, { ...tokens, amount: 1 + Math.floor(random() * 60) }]
        const { ticket, standings } = await take(...demands)
        if (!ticket) waitMs = Math.max(...standings.map(status => status.waitMs))
        else clock.move(random() * 9_000)
      }
      if (!Number.isInteger(waitMs) || waitMs < 1 || waitMs > minute) t.fail(`${waitMs} is no wait`)
      const half = Math.floor(waitMs / 2)
      clock.move(half)
      if ((await take(...demands)).ticket) t.fail(`admitted before ${waitMs} ms`)
      clock.move(waitMs - half)
      if ((await take(...demands)).ticket) admitted++
    }
    t.equal(admitted, 100)
  })

  t.test('tokens settle to actual usage: a surplus is free at once, an excess delays later requests [R7]', async t => {
    const { clock, counters, take, count } = await setUp()
    const tokens = window(1_000, 400)
    const first = await take(tokens)
    t.match(first.standings, [{ remaining: 600, waitMs: 0, resetMs: minute }])
    await counters.settle(ticketOf(first), [100])
    t.match(await counters.peek([tokens], 'refuse'), [{ remaining: 900 }])
    clock.move(10_000)
    const second = await take({ ...tokens, amount: 900 })
    t.ok(second.ticket)
    await counters.settle(ticketOf(second), [1_500])
    t.match(await counters.peek([{ ...tokens, amount: 1 }], 'refuse'), [{ remaining: 0, waitMs: minute }])
    t.equal(await count(3, { ...tokens, amount: 0 }), 3, 'a request without usage is not delayed')
    clock.move(minute - 1)
    t.equal(await count(3, tokens), 0)
    clock.move(1)
    t.equal(await count(3, tokens), 2)
  })

  t.test('usage beyond an expired estimate is counted when it is known', async t => {
    const { clock, counters, take } = await setUp()
    const tokens = window(1_000, 200)
    const ticket = ticketOf(await take(tokens))
    clock.move(2 * minute)
    await counters.settle(ticket, [900])
    t.match(await counters.peek([tokens], 'refuse'), [{ remaining: 300, resetMs: minute }])
  })

  t.test('settling a ticket at 0 undoes it, and slots are released whatever the amount', async t => {
    const { counters, take, count } = await setUp()
    const demands = [window(5), window(500, 100), places(2)]
    for (let i = 0; i < 20; i++) {
      const ticket = ticketOf(await take(...demands))
      await counters.settle(ticket, [0, 0, 1])
    }
    t.match(await counters.peek(demands, 'refuse'), [{ remaining: 5 }, { remaining: 500 }, { remaining: 2 }])
    t.equal(await count(9, ...demands), 2)
  })

  t.test('part of a ticket can end before the rest', async t => {
    const { counters, take } = await setUp()
    const [requests, place] = [window(5), places(1)]
    const ticket = ticketOf(await take(requests, place))
    await counters.settle({ ...ticket, demands: [place] }, [0])
    t.match(await counters.peek([requests, place], 'refuse'), [{ remaining: 4 }, { remaining: 1, waitMs: 0 }])
    t.match(await take(place), { standings: [{ remaining: 0 }] })
    t.match((await take(place)).standings, [{ waitMs: 1_000 }])
  })

  t.test('a limit in shadow mode counts, reports what it would refuse, and refuses nothing', async t => {
    const { take, count, counters } = await setUp()
    const shadow = window(2, 1, { shadow: true })
    t.equal(await count(5, shadow), 5)
    t.match(await take(shadow), { ticket: Object, standings: [{ remaining: 0, waitMs: minute }] })
    const real = window(1)
    t.equal(await count(3, shadow, real), 1)
    t.match(await counters.peek([shadow], 'refuse'), [{ remaining: 0 }])
  })

  t.test('peeking takes nothing; the reset is when the newest entry leaves the window', async t => {
    const { clock, counters, take, count } = await setUp()
    const requests = window(3)
    t.match(await counters.peek([requests], 'refuse'), [{ remaining: 3, waitMs: 0, resetMs: 0 }])
    await take(requests)
    clock.move(20_000)
    await take(requests)
    for (let i = 0; i < 10; i++) await counters.peek([requests], 'refuse')
    clock.move(10_000)
    t.match(await counters.peek([requests], 'refuse'), [{ remaining: 1, waitMs: 0, resetMs: 50_000 }])
    t.equal(await count(4, requests), 1)
    for (const remaining of [1, 2, 3]) {
      clock.move(remaining === 1 ? 30_000 : 20_000)
      for (let i = 0; i < 2; i++) t.match(await counters.peek([requests], 'refuse'), [{ remaining }])
    }
    t.equal(await count(4, requests), 3)
  })

  t.test('a lowered limit applies at once to its window', async t => {
    const { clock, take, count } = await setUp()
    const requests = window(6)
    t.equal(await count(6, requests), 6)
    clock.move(20_000)
    t.match((await take({ ...requests, limit: 4 })).standings, [{ remaining: 0, waitMs: 40_000 }])
    clock.move(40_000)
    t.equal(await count(6, { ...requests, limit: 4 }), 4)
  })

  t.test('a thousand requests with every outcome leak nothing', async t => {
    const seed = Date.now() % 2 ** 31
    t.comment(`seed ${seed}`)
    const random = seeded(seed)
    const { clock, counters, take } = await setUp()
    const demands = [window(400), window(40_000, 100), places(30)]
    const open: Ticket[] = []
    for (let i = 0; i < 1_000; i++) {
      clock.move(random() * 200)
      const { ticket } = await take(...demands)
      if (ticket) open.push(ticket)
      if (open.length === 0 || random() < 0.2) continue
      const [ended] = open.splice(Math.floor(random() * open.length), 1)
      if (ended) await counters.settle(ended, [Math.round(random()), Math.floor(random() * 300), 1])
    }
    for (const ticket of open) await counters.settle(ticket, [0, 0, 0])
    t.match((await counters.peek(demands, 'refuse'))[2], { remaining: 30 })
    clock.move(minute)
    t.match(await counters.peek(demands, 'refuse'), [{ remaining: 400 }, { remaining: 40_000 }, { remaining: 30 }])
  })
}
