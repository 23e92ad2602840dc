import type { Test } from 'tap'
import type { StoredConfig } from '../../src/domain/index.ts'
import { clockAt, type Harness, openHarness } from './storage.ts'

const at = Date.UTC(2026, 10, 17, 12)

/** Tests of the history of configurations, for every storage driver. */
export async function configHistoryContract(t: Test, make: Harness): Promise<void> {
  const { harness, storage } = await openHarness(t, make, clockAt(at))
  const { configs } = storage
  const taken: Omit<StoredConfig, 'id'> = {
    at,
    how: 'edit',
    by: 'ada',
    revision: '0123456789ab',
    version: '1.2.3',
    mark: 'a b',
    changes: ['price of m 1K: 0.01 → 0.02', 'secrets: changed'],
    changeCount: 2,
    files: [
      { file: 'gateway.yaml', text: 'version: 1 # 价格 🗝\n' },
      { file: 'long.csv', text: null },
    ],
    settings: { currency: 'USD' },
  }
  const { files: _files, settings: _settings, mark, ...listed } = taken

  await t.test('a configuration is stored after the newest, with its texts', async t => {
    t.equal(await configs.newest(), undefined)
    t.same(await configs.list({ limit: 5 }), [])
    t.equal(await configs.keep(taken, 0), true)
    t.same(await configs.newest(), { id: 1, mark })
    t.same(await configs.list({ limit: 5 }), [{ id: 1, ...listed }])
    t.same(await configs.find(1), { id: 1, ...taken })
    t.equal(await configs.find(2), undefined)
  })

  await t.test('of several processes that store a configuration at once, one does', async t => {
    const next = { ...taken, mark: 'c d', how: 'start', by: null } as const
    const kept = await Promise.all(Array.from({ length: 5 }, () => configs.keep(next, 1)))
    t.equal(kept.filter(Boolean).length, 1)
    t.same(await configs.newest(), { id: 2, mark: 'c d' })
    const other = await harness.open('tool', clockAt(at))
    t.equal(await other.configs.keep({ ...next, mark: 'e f' }, 1), false, 'another process has not seen it')
    await other.close()
    t.equal(await configs.keep({ ...next, mark: 'e f' }, 2), true)
  })

  await t.test('history is listed in pages, newest first, and does not change', async t => {
    const ids = async (before?: number) =>
      (await configs.list({ limit: 2, ...(before !== undefined && { before }) })).map(({ id }) => id)
    t.same(await ids(), [3, 2])
    t.same(await ids(2), [1])
    await t.rejects(async () => harness.edit(`UPDATE config_history SET revision = 'x'`))
    await t.rejects(async () => harness.edit(`UPDATE config_history SET actor = 'bob'`))
  })

  await t.test(
    'the newest 500 configurations are stored, each with the first hundred lines of its meaning',
    async t => {
      const copy = `SELECT n, at, revision, mark, how, actor, version, changes, change_count, body FROM config_history`
      await harness.edit(
        `INSERT INTO config_history WITH RECURSIVE more(n) AS (SELECT 4 UNION ALL SELECT n + 1 FROM more WHERE n < 500)
       ${copy}, more WHERE number = 1`,
      )
      const changes = Array.from({ length: 300 }, (_, i) => `line ${i}`)
      t.equal(await configs.keep({ ...taken, changes, changeCount: 300 }, 500), true)
      const rows = await configs.list({ limit: 500 })
      t.match([rows.length, rows[0]?.id, rows.at(-1)?.id], [500, 501, 2])
      t.match([rows[0]?.changes.length, rows[0]?.changeCount], [100, 300])
      t.equal(await configs.find(1), undefined)
    },
  )
}
