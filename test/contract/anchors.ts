import type { Test } from 'tap'
import type { Anchor, Storage } from '../../src/domain/index.ts'
import { type Harness, holdOf, line, newKey, type StorageHarness } from './storage.ts'

/** Tests of the anchors of the books, for every driver. */
export async function anchorsContract(t: Test, make: Harness): Promise<void> {
  async function start(t: Test) {
    const harness = await make()
    const storage = await harness.open('gateway')
    t.teardown(async () => {
      await storage.close()
      await harness.close()
    })
    const key = await storage.keys.create(newKey())
    const buy = async (count: number) => {
      for (let i = 0; i < count; i++) {
        const request = holdOf(key, 40_000)
        await storage.ledger.hold(request)
        await storage.ledger.line(request.facts.id, line(0))
        await storage.ledger.settle({ id: request.facts.id, delivery: 'confirmed', reason: null })
      }
    }
    return { harness, storage, buy }
  }

  const problemsOf = async ({ books }: Storage, anchors?: readonly Anchor[]) => (await books.verify(anchors)).problems

  await t.test('[6.6] the books match every anchor made of them', async t => {
    const { storage, buy } = await start(t)
    const anchors: Anchor[] = [await storage.books.anchor()]
    t.same(anchors[0]?.chains, [])
    for (let i = 0; i < 3; i++) {
      await buy(2)
      anchors.push(await storage.books.anchor())
    }
    t.equal(
      anchors.at(-1)?.chains.reduce((sum, { position }) => sum + position, 0),
      6,
    )
    t.equal(new Set(anchors.map(anchor => anchor.database)).size, 1)
    t.same(await problemsOf(storage, anchors), [])
  })

  await t.test('[6.6] only an anchor finds deleted newest rows with lowered chain ends', async t => {
    const { harness, storage, buy } = await start(t)
    await buy(4)
    const anchor = await storage.books.anchor()
    await takeNewest(harness)
    t.same(await problemsOf(storage), [], 'the remaining rows are consistent')
    t.match(
      (await problemsOf(storage, [anchor])).join('\n'),
      /^anchor of .*: entry 4 is missing; the last entry is 3$/m,
    )
  })

  await t.test('[6.6] finds deleted rows that were replaced by as many new ones', async t => {
    const { harness, storage, buy } = await start(t)
    await buy(4)
    const anchor = await storage.books.anchor()
    await takeNewest(harness)
    await buy(3)
    t.same(await problemsOf(storage), [])
    t.match(await problemsOf(storage, [anchor]), [/^anchor of .*: entry 4 differs from the anchored entry$/])
  })

  await t.test('[6.6] reports an anchor of another database, and accepts one of a copy', async t => {
    const [one, other] = [await start(t), await start(t)]
    await one.buy(1)
    await other.buy(1)
    const anchor = await other.storage.books.anchor()
    const problems = await problemsOf(one.storage, [anchor])
    t.equal(problems.length, 1)
    t.match(problems, [/^anchor of .*: is of another database, [0-9a-f]{14}; this is [0-9a-f]{14}$/])
    const again = await one.harness.open('tool')
    t.equal((await again.books.anchor()).database, (await one.storage.books.anchor()).database)
    await again.close()
  })
}

/** Removes the newest charge without another trace: its rows, the head of the chain, and the spend of its key. */
async function takeNewest(harness: StorageHarness): Promise<void> {
  const last = '(SELECT max(id) FROM charge)'
  await harness.tamper(`
    UPDATE key SET spent = spent - 40000, day_spent = day_spent - 40000, month_spent = month_spent - 40000;
    UPDATE account SET spent = spent - 40000, day_spent = day_spent - 40000, month_spent = month_spent - 40000 WHERE part = (SELECT max(part) FROM account);
    UPDATE chain SET position = position - 1, head = (SELECT prev_hash FROM entry WHERE charge_id = ${last})
      WHERE id = (SELECT chain FROM entry WHERE charge_id = ${last});
    DELETE FROM entry WHERE charge_id = ${last}; DELETE FROM line WHERE charge_id = ${last};
    DELETE FROM charge WHERE id = ${last}`)
}
