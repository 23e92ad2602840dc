import { existsSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Status } from '../../src/index.ts'
import { prepareSite } from '../harness/child.ts'
import { openOperated } from '../harness/operated.ts'
import { askOnce } from '../harness/ask.ts'
import { start } from '../harness/start.ts'

/** The status of one POST, with headers that `fetch` forbids. */
function post(url: string, headers: { [name: string]: string }): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request(url, { method: 'POST', headers }, res => {
      res.resume()
      resolve(res.statusCode)
    })
      .on('error', reject)
      .end()
  })
}

t.test('an operator reloads, inspects and sees refusals at the terminal', async t => {
  const { site, gateway, url, ops, tollgate } = await openOperated(t)
  const good = await readFile(site.config, 'utf8')

  await t.test('reload prints changes, prices first', async t => {
    // The file watcher may apply the file first, and then the reload reports no change.
    const changed = good
      .replace('2K: "0.04", 4K: "0.08" } }', '2K: "0.05", 4K: "0.08" } }')
      .replace('rpm: 60,', 'rpm: 61,')
    await writeFile(site.config, changed)
    const reloaded = await tollgate('reload')
    t.match(reloaded, { code: 0 })
    const report = reloaded.stdout === '' ? gateway.said() : reloaded.stdout
    t.match(report, /price of alpha-image-2 2K: 0\.04 USD → 0\.05 USD\n[^]*groups\.default/)
    t.match(reloaded.stderr, /^revision [0-9a-f]{12}: /)
  })

  await t.test('a bad file exits with 3 and every finding, and nothing changes', async t => {
    const before = (await (await fetch(`${ops}/status`)).json()) as Status
    await writeFile(site.config, good.replace('version: 1', 'version: 1\nversion: 1'))
    t.match(await tollgate('reload'), { code: 3, stderr: /old one stays active\n[^]*'version' is set twice here/ })
    const status = (await (await fetch(`${ops}/status`)).json()) as Status
    t.equal(status.revision, before.revision)
    t.match(status.last_reload, { ok: false, findings: [/set twice/] })
    t.match((await tollgate('status')).stdout, /reload +\S+ REJECTED; the old one stays active\n +.*set twice/)
    const metrics = await (await fetch(`${ops}/metrics`)).text()
    t.match(metrics, /^tollgate_config_last_reload_successful 0$/m)
    t.match(metrics, /^tollgate_config_reload_failures_total [1-9]/m)
    await gateway.hears(/the new configuration was rejected/)
    t.equal((await askOnce(url, { model: 'alpha-image-2', prompt: 'a' }, { key: site.key })).status, 200)
    await writeFile(site.config, good)
    t.match(await tollgate('reload', '--format', 'json'), { code: 0, stdout: /"ok":true/ })
    t.match(await (await fetch(`${ops}/metrics`)).text(), /^tollgate_config_last_reload_successful 1$/m)
  })

  await t.test('status shows the process, for people and for programs', async t => {
    const { code, stdout } = await tollgate('status', '--format', 'json')
    t.equal(code, 0)
    t.match(JSON.parse(stdout), {
      pid: gateway.pid,
      ready: true,
      open_requests: 0,
      storage: { kind: 'sqlite', healthy: true },
      counters: { kind: 'memory', healthy: true },
      upstreams: [{ name: 'alpha', healthy: true, simulated: false }, { name: 'beta', simulated: true }, {}],
      workers: [{ pid: gateway.pid }],
    })
    t.match((await tollgate('status')).stdout, /^gateway +ready, version/)
  })

  await t.test('the configuration in use is shown without its secrets', async t => {
    const { settings, revision } = (await (await fetch(`${ops}/config`)).json()) as {
      settings: Record<string, string>
      revision: string
    }
    t.match(revision, /^[0-9a-f]{12}$/)
    t.equal(settings['server.body_max'], '32MiB')
    t.equal(settings['upstreams.alpha.credential.header'], 'authorization')
  })

  await t.test('a page in a browser may not request a reload', async t => {
    t.equal(await post(`${ops}/reload`, { origin: 'https://evil.example' }), 403)
    t.equal(await post(`${ops}/reload`, { 'sec-fetch-site': 'cross-site' }), 403)
    t.equal(await post(`${ops}/reload`, { host: 'evil.example' }), 403, 'a name that was made to lead here')
    t.equal(await post(`${ops}/reload`, { host: 'localhost:9464' }), 200)
    t.equal(await post(`${ops}/reload`, {}), 200)
    t.equal((await fetch(`${ops}/reload`)).status, 405)
    t.equal((await fetch(`${ops}/nothing`)).status, 404)
  })

  await gateway.stop()
  t.match(await tollgate('reload'), { code: 4, stderr: /no gateway answers/ })
  t.match(await tollgate('status'), { code: 4 })
  await rm(site.config)
  t.match(await tollgate('status'), { code: 4, stderr: /gateway\.yaml does not exist.*-c FILE or --ops/ })
})

t.test('a paused upstream is shown', async t => {
  const { upstreams, opsUrl, post } = await start(t)
  upstreams['alpha']?.answer(res => void res.writeHead(503).end())
  for (let i = 0; i < 3; i++) await post('/v1/images/generations', { model: 'alpha-image-2', prompt: 'a' })
  const { upstreams: seen } = (await (await fetch(`${opsUrl}/status`)).json()) as Status
  const alpha = seen.find(({ name }) => name === 'alpha')
  t.match(alpha, { healthy: false })
  t.ok((alpha?.resting_ms ?? 0) > 0)
})

const own = Object.values(networkInterfaces())
  .flat()
  .find(one => one?.family === 'IPv4' && !one.internal)?.address

t.test(
  'a remote operator may read metrics and status, but not reload or read the configuration',
  { skip: own === undefined && 'this machine has no address but its own' },
  async t => {
    const { opsUrl } = await start(t, { simulated: true, env: { TOLLGATE_OPS: '0.0.0.0:0' } })
    const { port } = new URL(opsUrl)
    const [near, far] = [`http://127.0.0.1:${port}`, `http://${own}:${port}`]
    for (const path of ['/metrics', '/status', '/healthz']) t.equal((await fetch(far + path)).status, 200, path)
    t.equal((await fetch(`${far}/config`)).status, 403)
    t.equal(await post(`${far}/reload`, {}), 403)
    t.equal((await fetch(`${near}/config`)).status, 200)
    t.equal(await post(`${near}/reload`, {}), 200)
  },
)

t.test('a file saved while the gateway starts is applied', async t => {
  const site = await prepareSite(t.testdir(), { upstreams: {} })
  const storage = join(site.folder, 'new.db')
  const gateway = site.start({ TOLLGATE_STORAGE: `sqlite:${storage}` })
  t.teardown(() => gateway.kill())
  // The file has been read when the storage is opened.
  while (!existsSync(storage)) await sleep(1)
  await writeFile(site.config, (await readFile(site.config, 'utf8')).replace('2K: "0.04"', '2K: "0.05"'))
  await gateway.ready
  await Promise.race([gateway.hears(/reloaded: revision/), sleep(10_000)])
  t.match(gateway.said(), /price of alpha-image-2 2K: 0\.04 USD → 0\.05 USD/)
})
