import { readFile, writeFile } from 'node:fs/promises'
import t from 'tap'
import type { Status } from '../../src/index.ts'
import { redisMissing } from '../harness/redis.ts'
import { figure, startWorks, workersOf } from '../harness/works.ts'

t.test('several processes serve operators as one gateway', { skip: redisMissing() }, async t => {
  const { site, gateway } = await startWorks(t, 2)
  const ops = await gateway.ops
  const status = async (): Promise<Status> => (await (await fetch(`${ops}/status`)).json()) as Status

  await t.test('the status covers all workers', async t => {
    const now = await status()
    t.match(now, {
      pid: gateway.pid,
      ready: true,
      storage: { healthy: true },
      counters: { kind: 'redis', healthy: true },
    })
    t.same(new Set(now.workers.map(({ pid }) => pid)), new Set(await workersOf(gateway)))
    t.equal(
      now.memory,
      now.workers.reduce((sum, { memory }) => sum + memory, 0),
    )
  })

  await t.test('boolean metrics are not added up', async t => {
    for (const series of [/tollgate_storage_up/, /tollgate_counters_up/, /tollgate_upstream_up\{upstream="alpha"\}/])
      t.equal(await figure(gateway, series), 1, String(series))
    t.equal(await figure(gateway, /tollgate_config_last_reload_successful/), 1)
  })

  await t.test('a reload can be requested, and a refused one is reported', async t => {
    const good = await readFile(site.config, 'utf8')
    t.match(await (await fetch(`${ops}/reload`, { method: 'POST' })).json(), { ok: true, changes: [] })
    await writeFile(site.config, good.replace('version: 1', 'version: 3'))
    const refused = await fetch(`${ops}/reload`, { method: 'POST' })
    t.equal(refused.status, 422)
    t.match(await refused.json(), { ok: false, findings: [{ severity: 'error', line: Number }] })
    t.equal(await figure(gateway, /tollgate_config_last_reload_successful/), 0)
    t.match(await status(), { last_reload: { ok: false } })
    await writeFile(site.config, good)
    t.equal((await fetch(`${ops}/reload`, { method: 'POST' })).status, 200)
    t.equal(await figure(gateway, /tollgate_config_last_reload_successful/), 1)
    t.match(await (await fetch(`${ops}/config`)).json(), { settings: { 'server.workers': '2' } })
  })
})
