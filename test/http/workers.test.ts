import { readFile, writeFile } from 'node:fs/promises'
import t from 'tap'
import { createKey, type Status } from '../../src/index.ts'
import { openDatabase } from '../harness/database.ts'
import { askOnce } from '../harness/ask.ts'
import { runCli } from '../harness/cli.ts'
import { picture } from '../harness/pictures.ts'
import { redisMissing } from '../harness/redis.ts'
import { figure, startWorks, until, workersOf } from '../harness/works.ts'
import { caseName } from '../harness/case-name.ts'

const skip = redisMissing()
const ask = { model: 'alpha-image-2', prompt: 'a boat' }
const requests =
  /tollgate_requests_total\{operation="image.generate",model="alpha-image-2",status="2xx",outcome="answered"\}/

t.test('several processes are one gateway: one address, one storage, one set of metrics', { skip }, async t => {
  const { site, gateway, url, upstream } = await startWorks(t, 2)
  t.equal((await workersOf(gateway)).length, 2)
  t.equal(gateway.said().match(/^tollgate +http/gm)?.length, 1, 'it is announced once')
  t.notMatch(gateway.said(), /Created a first API key/, 'there is a key already')

  const answers = await Promise.all(Array.from({ length: 60 }, () => askOnce(url, ask, { key: site.key })))
  t.same(
    answers.map(answer => answer.status),
    answers.map(() => 200),
  )
  t.equal(upstream.received.length, 60)
  await until(async () => (await figure(gateway, requests)) === 60)
  t.equal(await figure(gateway, requests), 60, 'the figures of all are added up')
  t.equal(await figure(gateway, /tollgate_workers/), 2)
  t.equal(await figure(gateway, /tollgate_requests_in_flight/), 0)
  t.equal((await fetch(`${await gateway.ops}/readyz`)).status, 200)

  await t.test('a key change by a command applies in each of them', async t => {
    const storage = await openDatabase({ url: `sqlite:${site.database}`, role: 'tool' })
    const { key, secret } = await createKey(storage, { name: 'second', user: 'local' })
    const ten = () => Promise.all(Array.from({ length: 10 }, () => askOnce(url, ask, { key: secret })))
    await until(async () => (await ten()).every(({ status }) => status === 200))
    await storage.keys.revoke(key.id)
    await until(async () => (await ten()).every(({ status }) => status !== 200))
    await storage.close()
    t.pass()
  })

  await t.test('another gateway on the same file is refused, whether one process or several', async t => {
    for (const edit of [/ {2}workers: 2\n/, undefined]) {
      const text = await readFile(site.config, 'utf8')
      if (edit) await writeFile(site.config, text.replace(edit, ''))
      const second = site.start()
      await t.rejects(second.ready, /another gateway already works on/, caseName({ edit }))
      t.equal(await second.gone, 1, caseName({ edit }))
      await writeFile(site.config, text)
    }
  })

  await t.test('SIGTERM lets every worker finish, and the books are valid', async t => {
    const go = Promise.withResolvers<void>()
    upstream.answer(async res => {
      await go.promise
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ data: [picture(1024, 1024)] }))
    })
    const before = upstream.received.length
    const pending = Array.from({ length: 12 }, () => askOnce(url, ask, { key: site.key }))
    await until(async () => upstream.received.length === before + 12)
    gateway.signal('SIGTERM')
    await gateway.hears(/^SIGTERM: finishing 12 requests, for at most 30 s\. Repeat the signal to stop immediately\.$/m)
    t.equal((await fetch(`${await gateway.ops}/readyz`)).status, 503)
    go.resolve()
    t.same(
      (await Promise.all(pending)).map(({ status, headers }) => [status, headers['connection']]),
      pending.map(() => [200, 'close']),
    )
    t.equal(await gateway.gone, 0)
    const verified = await runCli(site, 'ledger', 'verify')
    t.equal(verified.code, 0, verified.stderr)
    t.match(verified.stderr, /: 0 problems$/m)
  })
})

t.test('all processes together count the wrong passwords of an address', { skip }, async t => {
  const { url } = await startWorks(t, 2)
  const statuses: (number | undefined)[] = []
  const headers = { 'x-tollgate': '1', origin: url }
  for (let i = 0; i < 25; i++) {
    const guess = { name: `user${i}`, password: 'not the password' }
    statuses.push((await askOnce(url, guess, { path: '/api/session', key: '', headers })).status)
  }
  t.same(statuses, [...Array<number>(20).fill(401), ...Array<number>(5).fill(429)])
})

t.test('a worker that starts during a reload has the new configuration', { skip }, async t => {
  // The third one keeps the port, which is 0 in the configuration.
  const { site, gateway, url } = await startWorks(t, 3)
  const statuses = async () => ((await (await fetch(`${await gateway.ops}/status`)).json()) as Status).workers
  const before = await workersOf(gateway)
  const [first = 0, second = 0] = before
  process.kill(first, 'SIGKILL')
  await until(async () => (await workersOf(gateway)).some(pid => !before.includes(pid)))
  // The reload waits for the worker that starts; meanwhile the other one is replaced.
  const good = await readFile(site.config, 'utf8')
  await writeFile(site.config, good.replace('\n  alpha-image-2:', '\n  renamed:'))
  const reloading = fetch(`${await gateway.ops}/reload`, { method: 'POST' })
  await until(async () => gateway.said().includes('a worker ended'))
  process.kill(second, 'SIGKILL')
  t.equal((await reloading).status, 200)
  await until(async () => {
    const workers = await statuses()
    return workers.length === 3 && workers.every(({ pid, ready }) => ready && pid !== first && pid !== second)
  })
  const answers = await Promise.all(
    Array.from({ length: 12 }, () => askOnce(url, { ...ask, model: 'renamed' }, { key: site.key })),
  )
  t.same([...new Set(answers.map(({ status }) => status))], [200])
})

t.test('a reload is applied by every worker or by none', { skip }, async t => {
  const { site, gateway, url, upstream } = await startWorks(t, 2)
  const good = await readFile(site.config, 'utf8')
  const models = async (): Promise<ReadonlySet<boolean>> => {
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => askOnce(url, { ...ask, model: 'renamed' }, { key: site.key })),
    )
    return new Set(answers.map(({ status }) => status === 200))
  }
  t.same([...(await models())], [false])
  const renamed = good.replace('\n  alpha-image-2:', '\n  renamed:')
  t.not(renamed, good)
  await writeFile(site.config, renamed)
  await gateway.hears(/^ {2}model renamed added/m)
  t.same([...(await models())], [true], 'each of them has it as soon as it is acknowledged')
  t.equal(gateway.said().match(/^reloaded:/gm)?.length, 1, 'it is reported once')

  await t.test('a bad file has no effect, also on workers started while it is there', async t => {
    await writeFile(site.config, renamed.replace('version: 1', 'version: 1\nversion: 2'))
    await gateway.hears(/the new configuration was rejected; the old one stays active\n.*set twice/)
    const before = await workersOf(gateway)
    for (const pid of before) {
      const from = gateway.said().length
      process.kill(pid, 'SIGKILL')
      await gateway.hears(/a worker ended; replacing it/, from)
      await until(async () => {
        const now = await workersOf(gateway)
        return now.length === 2 && !now.includes(pid) && (await figure(gateway, /tollgate_workers/)) === 2
      })
      // Without a listening worker the port would be released, and the next worker would get another: the configured
      // port is 0.
      await until(async () => {
        const { workers } = (await (await fetch(`${await gateway.ops}/status`)).json()) as Status
        return workers.length === 2 && workers.every(({ ready, pid: now }) => ready && now !== pid)
      })
    }
    upstream.answer({ created: 1, data: [picture(1024, 1024)] })
    await until(async () => (await models()).has(true))
    t.notOk((await workersOf(gateway)).some(pid => before.includes(pid)))
    t.same([...(await models())], [true])
  })

  await t.test('SIGHUP reads it again', async t => {
    const from = gateway.said().length
    await writeFile(site.config, renamed)
    gateway.signal('SIGHUP')
    t.ok(await gateway.hears(/^reloaded: .*no changes$/m, from))
  })
})
