import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { askOnce } from '../harness/ask.ts'
import { caseName } from '../harness/case-name.ts'
import { prepareSite, runTollgate } from '../harness/child.ts'

for (const [level, lines] of [
  ['info', 1],
  ['warn', 0],
] as const)
  t.test(`server.log_level ${level}: ${lines} lines for a request, which tollgate logs lists`, async t => {
    const folder = await mkdtemp(join(tmpdir(), 'tollgate-log-level-'))
    t.teardown(() => rm(folder, { recursive: true, force: true }))
    const site = await prepareSite(folder, { upstreams: {}, edit: [{ 'server/log_level': level }] })
    const gateway = site.start()
    t.teardown(() => gateway.kill())
    const body = { model: 'no-such-model', messages: [] }
    const { status, id } = await askOnce(await gateway.ready, body, { key: site.key, path: '/v1/chat/completions' })
    t.equal(status, 404)
    await gateway.stop()
    t.equal(gateway.said().match(/"msg":"request"/g)?.length ?? 0, lines)
    const { stdout } = await runTollgate(site, ['logs', '-c', site.config], {})
    t.match(stdout, id, caseName({ level }))
  })
