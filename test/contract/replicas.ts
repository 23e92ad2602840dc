import type { Test } from 'tap'
import { type Harness, holdOf, line, newKey } from './storage.ts'

/** Tests of several processes that bill on one database, for every driver. */
export async function replicasContract(t: Test, make: Harness): Promise<void> {
  await t.test('three processes admit exactly ten of 201 requests under a budget for ten', async t => {
    const harness = await make()
    const storage = await harness.open('worker')
    const poor = await storage.keys.create(newKey({ budget: 400_000 }))
    const children = await Promise.all([1, 2, 3].map(() => harness.child('worker', `budget ${poor.id}`)))
    await Promise.all(children.map(child => child.line()))
    for (const child of children) child.signal('SIGUSR2')
    const held = await Promise.all(children.map(async child => Number(await child.line())))
    t.equal(
      held.reduce((sum, one) => sum + one),
      10,
    )
    t.match(await storage.keys.list({ limit: 1_000 }), [{ held: 400_000, spent: 0 }])
    t.same((await storage.books.verify()).problems, [])
    for (const child of children) await child.kill()
    await storage.close()
    await harness.close()
  })

  await t.test('open charges of a killed process are ended when its lease has expired, and not before', async t => {
    const harness = await make()
    const child = await harness.child('worker', 'leave-open')
    const left = JSON.parse(await child.line()) as { keyId: string; lined: string; empty: string }
    await child.kill()
    const storage = await harness.open('worker')
    t.match(await storage.ledger.find(left.lined), { state: 'reserved' })
    t.match(await storage.keys.list({ limit: 1_000 }), [{ held: 300_000 }])
    t.same((await storage.books.verify()).problems, [])
    await harness.lapse()
    await until(async () => (await storage.ledger.find(left.lined))?.state === 'settled')
    t.match(await storage.ledger.find(left.lined), { amount: 80_000, reason: 'gateway_stopped' })
    t.match(await storage.ledger.find(left.empty), { state: 'needs_review', reason: 'gateway_stopped' })
    t.match(await storage.keys.list({ limit: 1_000 }), [{ held: 0, spent: 120_000 }])
    t.equal((await storage.journal.list({ limit: 10 })).length, 4)
    t.same((await storage.books.verify()).problems, [])
    await storage.close()
    await harness.close()
  })

  await t.test('open charges of a closed process are ended by the next check', async t => {
    const harness = await make()
    const first = await harness.open('worker')
    const request = holdOf(await first.keys.create(newKey()), 10)
    await first.ledger.hold(request)
    const sold = holdOf(await first.keys.create(newKey()), 10)
    await first.ledger.hold(sold)
    t.equal(await first.ledger.line(sold.facts.id, line(0), 'beta'), true)
    t.equal(await first.ledger.line(sold.facts.id, line(1)), true)
    await first.close()
    const second = await harness.open('worker')
    t.match(await second.ledger.find(request.facts.id), { state: 'needs_review', upstream: 'alpha' })
    t.match(await second.ledger.find(sold.facts.id), { state: 'settled', upstream: 'beta' }, 'who sold it')
    t.same((await second.books.verify()).problems, [])
    await second.close()
    await harness.close()
  })

  await t.test('[7.6] a charge refunded twice at once is refunded once, and the second call returns 0', async t => {
    const harness = await make()
    const [one, other] = [await harness.open('worker'), await harness.open('worker')]
    for (let i = 0; i < 12; i++) {
      const request = holdOf(await one.keys.create(newKey()), 40_000)
      await one.ledger.hold(request)
      await one.ledger.line(request.facts.id, line(0, { price: 40_000 }))
      await one.ledger.settle({ id: request.facts.id, delivery: 'confirmed', reason: null })
      const given = await Promise.all(
        [one, other].map(storage => storage.books.refund(request.facts.id, 'ada', 'a complaint')),
      )
      t.same(
        given.toSorted((a, b) => a - b),
        [0, 40_000],
      )
    }
    t.same((await one.books.verify()).problems, [])
    await one.close()
    await other.close()
    await harness.close()
  })

  await t.test('a process frozen past its lease changes nothing of its charges, and begins again', async t => {
    const harness = await make()
    const child = await harness.child('worker', 'leave-open')
    const left = JSON.parse(await child.line()) as { lined: string; empty: string }
    child.signal('SIGSTOP')
    await harness.lapse()
    const storage = await harness.open('worker')
    const read = () => Promise.all([left.lined, left.empty].map(async id => storage.ledger.find(id)))
    const before = await read()
    t.match(before, [{ state: 'settled' }, { state: 'needs_review' }])
    child.signal('SIGCONT')
    child.signal('SIGUSR2')
    t.equal(await child.line(), '[false,false,false,false]')
    t.same(await read(), before)
    t.same((await storage.books.verify()).problems, [])
    await child.kill()
    await storage.close()
    await harness.close()
  })

  await t.test('[10.5] a process takes over all jobs of another, however many they are', async t => {
    const harness = await make()
    const one = await harness.open('worker')
    const { facts } = holdOf(await one.keys.create(newKey()), 100_000)
    const job = {
      keyId: facts.keyId,
      operation: 'image.generate',
      model: 'm',
      upstream: 'u',
      n: 1,
      told: [{ id: '1' }],
    }
    const ids = Array.from({ length: 2_001 }, (_, i) => `req_${String(i).padStart(20, '0')}`)
    await Promise.all(ids.map(id => one.jobs.open({ ...job, id, deadlineAt: Date.now() + 60_000 }, 'detached')))
    await harness.edit('DELETE FROM replica')
    const other = await harness.open('worker')
    t.strictSame(
      (await other.jobs.own()).map(({ id }) => id),
      ids,
    )
    await one.close()
    await other.close()
    await harness.close()
  })

  await t.test('[10.5] the previous process neither ends nor pays a job that another took over', async t => {
    const harness = await make()
    const one = await harness.open('worker')
    const request = holdOf(await one.keys.create(newKey()), 100_000)
    const { id } = request.facts
    await one.ledger.hold(request)
    const { keyId } = request.facts
    const job = { id, keyId, operation: 'image.generate', model: 'm', upstream: 'u', n: 1, told: [{ id: '1' }] }
    await one.jobs.open({ ...job, deadlineAt: Date.now() + 60_000 }, 'waited')
    t.match(await one.jobs.own(), [{ id, state: 'running' }])
    await harness.edit('DELETE FROM replica')
    const other = await harness.open('worker')
    t.match(await other.jobs.own(), [{ id, told: [{ id: '1' }] }])
    t.match(await other.ledger.find(id), { state: 'reserved' }, 'its charge goes with it')
    t.strictSame(await one.jobs.own(), [])
    t.equal(await one.ledger.line(id, line(0, { price: 40_000 })), false)
    t.equal(await one.ledger.void(id, 'upstream_refused'), false)
    t.equal(await one.jobs.end(id, 'failed', null), false)
    t.equal(await other.ledger.line(id, line(0, { price: 40_000 })), true)
    t.equal(await other.ledger.settle({ id, delivery: 'confirmed', reason: null }), true)
    t.equal(await other.jobs.end(id, 'done', null), true)
    t.match(await other.keys.list({ limit: 1_000 }), [{ held: 0, spent: 40_000 }])
    t.same((await other.books.verify()).problems, [])
    await one.close()
    await other.close()
    await harness.close()
  })

  await t.test(
    'one of two processes is killed under load: the other continues, and nothing acknowledged is lost',
    async t => {
      const harness = await make()
      const storage = await harness.open('worker')
      const [victim, other] = [await harness.child('worker', 'load'), await harness.child('worker', 'load')]
      const acknowledged: string[] = []
      for (let i = 0; i < 100; i++) acknowledged.push(await victim.line(), await other.line())
      await victim.kill()
      for (let i = 0; i < 100; i++) acknowledged.push(await other.line())
      await other.kill()
      await harness.lapse()
      const all = async () => storage.books.all(null, 100_000)
      await until(async () => (await all()).every(({ state }) => state !== 'reserved'))
      const settled = new Set((await all()).flatMap(({ id, state }) => (state === 'settled' ? [id] : [])))
      t.same(
        acknowledged.filter(id => !settled.has(id)),
        [],
      )
      t.same((await storage.books.verify()).problems, [])
      await storage.close()
      await harness.close()
    },
  )
}

/** Waits until a condition holds. The limit allows for the five seconds between two renewals of a lease. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + 15_000
  while (!(await holds())) {
    if (performance.now() > end) throw new Error('it has not come about in 15 s')
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}
