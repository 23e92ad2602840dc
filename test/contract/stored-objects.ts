import type { Test } from 'tap'
import type { StoredObject } from '../../src/domain/index.ts'
import { until } from '../harness/edits.ts'
import { clockAt, type Harness, newKey, openHarness } from './storage.ts'

const now = 1_800_000_000_000
const day = 24 * 3_600_000

function objectOf(keyId: string, id: string, more: Partial<StoredObject> = {}): StoredObject {
  const place = {
    upstream: 'text',
    vendorKey: null,
    model: 'm',
    parent: null,
    requestId: 'req_1',
    bytes: 0,
    shown: null,
  }
  return { id, kind: 'response', keyId, ...place, createdAt: now, expiresAt: null, deletedAt: null, ...more }
}

/** Tests of stored objects, for every driver. */
export async function storedObjectsContract(t: Test, make: Harness): Promise<void> {
  async function start(t: Test) {
    const clock = clockAt(now)
    const { storage } = await openHarness(t, make, clock)
    const [one, two] = [await storage.keys.create(newKey({})), await storage.keys.create(newKey({}))]
    return { clock, storage, objects: storage.objects, one: one.id, two: two.id }
  }

  await t.test('an object is found by the key that created it and its kind, with all of its data', async t => {
    const { objects, one, two } = await start(t)
    const whole = objectOf(one, 'file-1', {
      kind: 'file',
      vendorKey: 'k',
      parent: 'p',
      bytes: 2 ** 40,
      shown: '{"id":"file-1"}',
      expiresAt: now + day,
    })
    await objects.put([objectOf(one, 'resp_1'), whole])
    const wanted = [{ kind: 'file', id: 'file-1' } as const, { kind: 'response', id: 'resp_1' } as const]
    t.same(await objects.find(one, wanted), [whole, objectOf(one, 'resp_1')])
    t.same(await objects.find(two, wanted), [])
    t.same(await objects.find(one, [{ kind: 'batch', id: 'file-1' }]), [])
  })

  await t.test("two keys may have the same id; the last write sets an object's upstream", async t => {
    const { objects, one, two } = await start(t)
    await objects.put([objectOf(one, 'r'), objectOf(two, 'r', { upstream: 'other' })])
    await objects.put([objectOf(one, 'r', { upstream: 'third', vendorKey: 'b' })])
    t.match(await objects.find(one, [{ kind: 'response', id: 'r' }]), [{ upstream: 'third', vendorKey: 'b' }])
    t.match(await objects.find(two, [{ kind: 'response', id: 'r' }]), [{ upstream: 'other' }])
  })

  await t.test("a new file ends another key's record with the same id at the same upstream", async t => {
    const { objects, one, two } = await start(t)
    const file = { kind: 'file', vendorKey: 'a' } as const
    await objects.put([objectOf(one, 'files/x', file), objectOf(one, 'files/y', { ...file, vendorKey: null })])
    await objects.put([objectOf(two, 'files/x', { ...file, vendorKey: 'b' }), objectOf(two, 'files/y', file)])
    const wanted = [{ kind: 'file', id: 'files/x' } as const, { kind: 'file', id: 'files/y' } as const]
    t.equal((await objects.find(one, wanted)).length, 2, 'another vendor key is another place')
    await objects.put([objectOf(two, 'files/x', file), objectOf(two, 'files/y', { ...file, vendorKey: null })])
    t.same(await objects.find(one, wanted), [])
    t.equal((await objects.find(two, wanted)).length, 2)
  })

  await t.test('ended and expired objects are not found, nor are their parts', async t => {
    const { clock, objects, one } = await start(t)
    await objects.put([objectOf(one, 'r'), objectOf(one, 'i', { kind: 'item', parent: 'r' })])
    await objects.put([objectOf(one, 'late', { expiresAt: now + day })])
    t.equal(await objects.end(one, 'response', 'r'), true)
    t.equal(await objects.end(one, 'response', 'r'), false)
    t.same(
      await objects.find(one, [
        { kind: 'response', id: 'r' },
        { kind: 'item', id: 'i' },
      ]),
      [],
    )
    t.equal((await objects.find(one, [{ kind: 'response', id: 'late' }])).length, 1)
    clock.set(now + day)
    t.same(await objects.find(one, [{ kind: 'response', id: 'late' }]), [])
  })

  await t.test('the content of an expired object is deleted before its record, and no list shows it', async t => {
    const chores: (() => void)[] = []
    const still = clockAt(now)
    const every = (_ms: number, run: () => void) => {
      chores.push(run)
      return { cancel: () => undefined }
    }
    const { harness, storage } = await openHarness(t, make, { ...still, every })
    const { id: key } = await storage.keys.create(newKey({}))
    const kept = { upstream: '', shown: 'content' }
    await storage.objects.put([
      objectOf(key, 'soon', { ...kept, expiresAt: now + day }),
      objectOf(key, 'late', { ...kept, expiresAt: now + 3 * day }),
    ])
    still.set(now + day)
    for (const run of chores) run()
    await storage.flush()
    still.set(now)
    const shown = async (id: string) => (await storage.objects.find(key, [{ kind: 'response', id }]))[0]?.shown
    // A server deletes the object later, at a time of its own.
    await until(async () => (await shown('soon')) === null)
    t.equal(await shown('late'), 'content')
    const listed = await storage.objects.list({ limit: 9 })
    t.same(
      listed.map(one => [one.id, one.shown]),
      [
        ['soon', null],
        ['late', null],
      ],
    )
    // One commit deletes fewer than expire within a minute on a busy gateway.
    const many = Array.from({ length: 2_400 }, (_, i) => objectOf(key, `r${i}`, { ...kept, expiresAt: now + day }))
    await storage.objects.put(many)
    const earlier = await harness.open('tool', clockAt(now))
    still.set(now + day)
    for (const run of chores) run()
    await until(async () => (await earlier.objects.find(key, many)).every(one => one.shown === null))
    t.equal((await earlier.objects.find(key, many)).length, many.length)
    await earlier.close()
  })

  await t.test('lists are paged, in either order, and count objects that clients named', async t => {
    const { objects, one, two } = await start(t)
    const files = Array.from({ length: 5 }, (_, i) =>
      objectOf(one, `file-${i}`, { kind: 'file', bytes: 10, shown: '{}', createdAt: now + i }),
    )
    await objects.put([...files, objectOf(one, 'r'), objectOf(two, 'file-x', { kind: 'file', bytes: 1 })])
    const ids = async (order: 'asc' | 'desc', after?: string) =>
      (await objects.page({ keyId: one, kind: 'file', limit: 2, order, ...(after !== undefined && { after }) })).map(
        ({ id }) => id,
      )
    t.same(await ids('desc'), ['file-4', 'file-3'])
    t.same(await ids('desc', 'file-3'), ['file-2', 'file-1'])
    t.same(await ids('asc', 'file-3'), ['file-4'])
    t.same(await objects.sizeOf(one), { count: 5, bytes: 50 })
    const ofTwo = objects.list({ keyId: two, limit: 9 })
    t.type(ofTwo, Promise, 'a list may read all rows: it does not run on the main thread')
    t.equal((await ofTwo).length, 1)
    t.equal((await objects.list({ kind: 'file', limit: 9 })).length, 6)
    // Two keys have the same id at the same time: each page continues where the previous one ended.
    await objects.put([objectOf(two, 'r')])
    const all = await objects.list({ limit: 99 })
    const paged = []
    for (let before = undefined as (typeof all)[number] | undefined; ; ) {
      const [next] = await objects.list({ limit: 1, ...(before && { before }) })
      if (!next) break
      paged.push(next)
      before = next
    }
    t.equal(paged.length, 8)
    t.same(paged, all)
    await objects.end(one, 'file', 'file-3')
    t.same(await ids('desc', 'file-3'), ['file-2', 'file-1'], 'a list continues after an object that was deleted since')
    t.same(await ids('desc'), ['file-4', 'file-2'])
  })

  await t.test('an erased user leaves no object', async t => {
    const { storage, objects } = await start(t)
    await storage.users.create({ name: 'ann', group: 'default', role: 'user', passwordHash: null })
    const key = await storage.keys.create(newKey({ user: 'ann' }))
    await objects.put([objectOf(key.id, 'r')])
    await storage.users.erase('ann', 'admin')
    t.same(await objects.list({ keyId: key.id, limit: 9 }), [])
  })
}
