import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { createGateway, createKey, openStorage } from '../../src/index.ts'
import { layProject, readBlocks } from '../harness/project.ts'
import { quietLog } from '../harness/start.ts'

const packages = fileURLToPath(new URL('../../node_modules/', import.meta.url))
const samples = await readBlocks('embedding.md', 'js')

/** The code sample on the page that contains this line, in a project of its own. */
async function laySample(t: Test, line: string) {
  const { folder } = await layProject(t.testdir())
  for (const name of ['fastify', 'express']) await symlink(join(packages, name), join(folder, 'node_modules', name))
  const [sample] = samples.filter(code => code.includes(line))
  if (sample === undefined) throw new Error(`docs/embedding.md has no sample with ${line}`)
  await writeFile(join(folder, 'sample.js'), sample)
  const env = {
    ...process.env,
    PORT: '0',
    TOLLGATE_LISTEN: '127.0.0.1:0',
    TOLLGATE_OPS: 'off',
    TOLLGATE_STORAGE: `sqlite:${join(folder, 'sample.db')}`,
  }
  const child = spawn(process.execPath, ['sample.js'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  t.teardown(() => child.kill('SIGKILL'))
  return { folder, child, storage: env.TOLLGATE_STORAGE }
}

/** The port that the sample prints. */
async function portOf({ stdout }: ChildProcess): Promise<string> {
  if (stdout)
    for await (const line of createInterface({ input: stdout })) {
      const port = /^listening on port (\d+)$/.exec(line)?.[1]
      if (port !== undefined) return port
    }
  throw new Error('the sample ended before it listened')
}

t.test("the page's samples work unchanged: by itself", async t => {
  const { child } = await laySample(t, "name: 'first'")
  const [output, errorText, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  t.equal(code, 0, errorText)
  t.match(output, /^200 req_\w+\n$/m)
})

for (const [host, line] of [
  ['node:http', "from 'node:http'"],
  ['fastify', "from 'fastify'"],
  ['express', "from 'express'"],
] as const) {
  t.test(`the page's samples work unchanged: as a listener in ${host}`, async t => {
    const { child, storage: address } = await laySample(t, line)
    const url = `http://127.0.0.1:${await portOf(child)}`
    const storage = await openStorage({ url: address, role: 'tool' })
    const { secret } = await createKey(storage, { name: 'test', user: 'local' })
    const post = (path: string, body: object) =>
      fetch(url + path, {
        method: 'POST',
        headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })

    t.equal(await (await fetch(url)).text(), 'my own page\n')
    t.equal((await fetch(`${url}/v1/models`)).status, 401)
    const image = await post('/v1/images/generations', { model: 'alpha-image-2', prompt: 'a boat' })
    t.equal(image.status, 200)
    t.match(await image.json(), { data: [{ b64_json: /./ }] })
    const id = image.headers.get('x-request-id')
    const charge = await fetch(`${url}/v1/charges/${id}`, { headers: { authorization: `Bearer ${secret}` } })
    t.match(await charge.json(), { count: 1, lines: [{ tier: '2K', price: '0.04' }] })
    const stream = await post('/v1/chat/completions', {
      model: 'sim-chat',
      stream: true,
      messages: [{ role: 'user', content: 'hello' }],
    })
    t.match(await stream.text(), /data: \{[^]*data: \[DONE\]/)

    await storage.close()
    child.kill('SIGTERM')
    const [code] = (await once(child, 'close')) as [number | null]
    t.equal(code, 0, 'and it stops on request')
  })
}

t.test("the page's samples work unchanged: with a custom log, and both errors", async t => {
  const { child } = await laySample(t, 'error instanceof StorageError')
  const [output, errorText, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  t.equal(code, 0, errorText)
  t.match(output, /^ready true$/m)
  t.equal(errorText, '')

  const wrong = await laySample(t, 'error instanceof StorageError')
  await writeFile(join(wrong.folder, 'gateway.yaml'), 'version: 1\n')
  t.match(await text(wrong.child.stderr), /^1 /m)
})

t.test('a log with four methods is enough: it gets requests, and nothing secret', async t => {
  const { config } = await layProject(t.testdir())
  const lines: { readonly facts: object; readonly text: string }[] = []
  const take = (facts: object, text: string) => void lines.push({ facts, text })
  const env = {
    TOLLGATE_STORAGE: 'sqlite::memory:',
    TOLLGATE_LISTEN: '127.0.0.1:0',
    TOLLGATE_OPS: 'off',
    ALPHA_API_KEY: 'a-vendor-secret',
  }
  {
    await using gateway = await createGateway(config, {
      env,
      log: { debug: take, info: take, warn: take, error: take },
    })
    const { url } = await gateway.listen()
    const { secret } = await createKey(gateway.storage, { name: 'a', user: 'local' })
    const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
    const body = JSON.stringify({ model: 'alpha-image-2', prompt: 'a boat' })
    t.equal((await fetch(`${url}/v1/images/generations`, { method: 'POST', headers, body })).status, 200)
    gateway.log.warn(
      { from: 'Bearer a-vendor-secret', large: 1n, err: new Error('a-vendor-secret') },
      'a-vendor-secret',
    )
  }
  t.match(
    lines.find(({ text }) => text === 'request'),
    { facts: { model: 'alpha-image-2', status: 200, outcome: 'answered' } },
  )
  t.match(
    lines.find(({ text }) => text === '[hidden]'),
    { facts: { large: '1', err: { type: 'Error', message: '[hidden]' } } },
    'what is no plain data is told as such',
  )
  t.notMatch(JSON.stringify(lines), /a-vendor-secret/)
})

t.test('a gateway is closed at the end of its block, and the next can open its storage', async t => {
  const { config, folder } = await layProject(t.testdir())
  const env = {
    TOLLGATE_LISTEN: '127.0.0.1:0',
    TOLLGATE_OPS: 'off',
    TOLLGATE_STORAGE: `sqlite:${join(folder, 'a.db')}`,
  }
  const open = () => createGateway(config, { env, log: quietLog() })
  {
    await using gateway = await open()
    const { url } = await gateway.listen()
    t.equal((await fetch(`${url}/v1/models`)).status, 401)
    await t.rejects(open(), { code: 'storage_in_use' }, 'while it is open it is nobody else’s')
  }
  await using again = await open()
  t.ok(again.ready)
  t.equal(again.open, 0)
})

t.test('an embedded gateway is reloaded completely, or not at all with the reason', async t => {
  const { config } = await layProject(t.testdir())
  const env = { TOLLGATE_STORAGE: 'sqlite::memory:' }
  await using gateway = await createGateway(config, { env, log: quietLog() })
  const { revision } = gateway.plan
  const right = await readFile(config, 'utf8')
  await writeFile(config, right.replace('upstream: alpha,', 'upstream: alhpa,'))
  t.match(await gateway.reload(), { ok: false, findings: [{ line: Number, col: Number, remedy: /alpha/ }] })
  t.equal(gateway.plan.revision, revision)
  await writeFile(config, right.replace('currency: USD', 'currency: EUR'))
  t.match(await gateway.reload(), { ok: false, findings: [{ code: 'currency_changed', remedy: /currency: USD/ }] })
  t.equal(gateway.plan.currency, 'USD', 'spend and top-ups stay unchanged')
  await writeFile(config, right.replace('4K: "0.08" } }', '4K: "0.09" } }'))
  t.match(await gateway.reload(), { ok: true, changes: [/alpha-image-2.*4K/] })
  t.not(gateway.plan.revision, revision)
})

t.test('an invalid configuration is refused with all findings', async t => {
  await t.rejects(createGateway({ text: 'version: 1\n' }), { name: 'ConfigError', findings: [{ line: Number }] })
})
