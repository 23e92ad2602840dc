import { chmod, mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { SecretWatch } from '../../src/gateway/secret-watch.ts'
import { createGateway, createKey, type Gateway, type ReloadResult, systemClock } from '../../src/index.ts'
import { askOnce } from '../harness/ask.ts'
import { prepareSite } from '../harness/child.ts'
import { makeFolder } from '../harness/folder.ts'
import { quietLog } from '../harness/start.ts'
import { startUpstream } from '../harness/upstream.ts'
import { caseName } from '../harness/case-name.ts'

const configOf = (url: string): string => `version: 1
server: { listen: 127.0.0.1:0, ops: "off", console: off }
storage: "sqlite::memory:"
groups: { default: {} }
upstreams:
  one:
    url: ${url}
    credential: { header: authorization, value: "Bearer \${file:secrets/vendor}" }
    headers: { x-second: "\${file:secrets/second}" }
pipeline: [auth, token-usage]
families: { talk: { forward: { chat: [model, messages] } } }
models: { m: { family: talk, upstream: one, price: free } }
routes: [{ match: POST /v1/chat/completions, operation: chat, dialect: openai }]
`

/** As Kubernetes mounts a Secret: files are links through `..data`, and a new version replaces that link. */
async function mountVersion(folder: string, version: string, files: { readonly [name: string]: string }) {
  const name = `..version_${version}`
  await mkdir(join(folder, name), { recursive: true })
  for (const [file, text] of Object.entries(files)) await writeFile(join(folder, name, file), text)
  await symlink(name, join(folder, '..data_tmp'))
  await rename(join(folder, '..data_tmp'), join(folder, '..data'))
}

t.test('a secret is reloaded from its file, however it was replaced, and reported without its value', async t => {
  const upstream = await startUpstream({ choices: [{ message: { content: 'hi' } }] })
  t.teardown(() => upstream.close())
  const { folder } = await makeFolder(t)
  const secrets = join(folder, 'secrets')
  await mountVersion(secrets, 'v1', { vendor: 'key-one\n', second: 'second-one' })
  for (const name of ['vendor', 'second']) await symlink(join('..data', name), join(secrets, name))
  const file = join(folder, 'gateway.yaml')
  await writeFile(file, configOf(upstream.url))

  const lines: unknown[][] = []
  const tell = (...words: unknown[]): void => void lines.push(words)
  const log = { ...quietLog(), info: tell, warn: tell, error: tell }
  const gateway: Gateway = await createGateway(file, { log })
  t.teardown(() => gateway.close())
  const results: ReloadResult[] = []
  const watch = new SecretWatch({
    plan: () => gateway.plan,
    reload: async () => results.push(await gateway.reload()),
    log,
    // The test triggers the polls itself; their short waits end immediately.
    clock: { ...systemClock, after: (ms, run) => systemClock.after(ms < 1_000 ? 0 : 2 ** 30, run) },
  })
  t.teardown(() => watch.close())
  const { secret: key } = await createKey(gateway.storage, { name: 'k', user: 'local' })
  const { url } = await gateway.listen()
  const sent = async () => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }] })
    const { status } = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body })
    const got = upstream.received.at(-1)?.headers
    return `${status} ${String(got?.['authorization'])} ${String(got?.['x-second'])}`
  }

  await watch.look()
  t.equal(await sent(), '200 Bearer key-one second-one')
  t.equal(results.length, 0, 'nothing has changed')

  await t.test('a link to its folder is replaced', async t => {
    await mountVersion(secrets, 'v2', { vendor: 'key-two\n', second: 'second-one' })
    await watch.look()
    t.equal(await sent(), '200 Bearer key-two second-one')
    t.match(results, [{ ok: true }])
    t.same(results[0]?.ok && results[0].changes, [
      'upstreams.one.credential.value: changed',
      `secret file ${join(secrets, 'vendor')}: changed`,
    ])
    t.match(JSON.stringify(lines), 'a new configuration is active')
  })

  await t.test('another file is renamed over it', async t => {
    await writeFile(join(secrets, 'new'), 'key-three')
    await rename(join(secrets, 'new'), join(secrets, 'vendor'))
    await watch.look()
    t.equal(await sent(), '200 Bearer key-three second-one')
  })

  await t.test(
    'a file is empty or missing for a moment: the old secret stays, and a single report is made',
    async t => {
      const before = results.length
      for (const [change, reason] of [
        [() => writeFile(join(secrets, 'vendor'), ''), 'it is empty'],
        [() => rm(join(secrets, 'vendor')), 'ENOENT'],
      ] as const) {
        lines.length = 0
        await change()
        await watch.look()
        await watch.look()
        t.equal(await sent(), '200 Bearer key-three second-one', caseName({ change, reason }))
        t.match(
          lines,
          [[{ file: join(secrets, 'vendor'), reason }, /its previous value stays in use/]],
          caseName({ change, reason }),
        )
        t.equal(lines.length, 1, caseName({ change, reason }))
        t.equal(results.length, before, 'nothing was read again')
        await writeFile(join(secrets, 'vendor'), 'key-three')
        await watch.look()
        t.match(lines[1], [{}, /readable again, with the same value/], caseName({ change, reason }))
        results.length = before
      }
    },
  )

  await t.test('an empty one is not applied by a reload meanwhile either', async t => {
    await writeFile(join(secrets, 'vendor'), '')
    const refused = await gateway.reload()
    t.match(refused, { ok: false, findings: [{ code: 'file_unreadable', message: /vendor.*it is now empty/ }] })
    t.equal(await sent(), '200 Bearer key-three second-one')
    await writeFile(join(secrets, 'vendor'), 'key-four')
    await watch.look()
    t.equal(await sent(), '200 Bearer key-four second-one')
  })

  const printed = JSON.stringify([lines, results])
  for (const secret of ['key-one', 'key-two', 'key-three', 'key-four', 'second-one'])
    t.notMatch(printed, secret, caseName({ secret }))
})

t.test('serve watches them: the next request has the new secret', async t => {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  const { folder } = await makeFolder(t)
  const secret = join(folder, 'alpha-key')
  await writeFile(secret, 'the-first')
  await chmod(secret, 0o600)
  const site = await prepareSite(folder, {
    upstreams: { alpha: upstream.url },
    edit: [['"Bearer ${ALPHA_API_KEY:-}"', `"Bearer \${file:${secret}}"`]],
  })
  const gateway = site.start()
  t.teardown(() => gateway.kill())
  const url = await gateway.ready
  await askOnce(url, { model: 'alpha-image-2', prompt: 'a' }, { key: site.key })
  t.equal(upstream.received.at(-1)?.headers['authorization'], 'Bearer the-first')
  await writeFile(secret, 'the-second')
  await gateway.hears(/reloaded: revision/)
  await gateway.hears(/secret file .*alpha-key: changed/)
  await askOnce(url, { model: 'alpha-image-2', prompt: 'a' }, { key: site.key })
  t.equal(upstream.received.at(-1)?.headers['authorization'], 'Bearer the-second')
  t.notMatch(gateway.said(), 'the-second')
  t.match(await readFile(secret, 'utf8'), 'the-second')
  await gateway.stop()
})
