import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { createGateway, createKey, explainRequest, listPrices, loadConfig, replayCharge } from '../../src/index.ts'
import { editYaml } from '../harness/edit-yaml.ts'
import { layCallFee } from '../harness/call-fee.ts'
import { until } from '../harness/edits.ts'
import type { Project } from '../harness/project.ts'
import { quietLog } from '../harness/start.ts'
import { enterAsAdmin } from '../harness/visitor.ts'

const bin = fileURLToPath(new URL('../../src/cli/bin.ts', import.meta.url))

async function lay(t: Test): Promise<Project & { readonly env: NodeJS.ProcessEnv; readonly at: string }> {
  const folder = t.testdir()
  const project = await layCallFee(folder)
  const env = {
    TOLLGATE_LISTEN: '127.0.0.1:0',
    TOLLGATE_OPS: 'off',
    TOLLGATE_STORAGE: `sqlite:${join(folder, 'tollgate.db')}`,
  }
  const loaded = await loadConfig(project.config, env)
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.findings))
  const line = loaded.plan.models.get('sim-rerank')?.prices.get('call')?.origin.line ?? 0
  return { ...project, env, at: `gateway.yaml:${line}` }
}

async function run(t: Test) {
  const project = await lay(t)
  const gateway = await createGateway(project.config, { env: project.env, log: quietLog() })
  t.teardown(() => gateway.close())
  const { url } = await gateway.listen()
  const { secret, key } = await createKey(gateway.storage, { name: 'test', user: 'local', budget: 70_000 })
  const authorization = `Bearer ${secret}`
  const ask = () =>
    fetch(`${url}/v1/rerank`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sim-rerank', query: 'a boat', documents: ['a boat', 'a tree'] }),
    })
  const get = (path: string) => fetch(url + path, { headers: { authorization } })
  /** Waits until every request so far is in the log. */
  const settled = async () => {
    await until(() => gateway.open === 0)
    await gateway.storage.flush()
  }
  return { ...project, gateway, url, key, ask, get, settled }
}

t.test('[8.1] a third-party billing plugin is quoted by explain and listed on the price page', async t => {
  const { config, env, at, gateway, url } = await run(t)
  const explained = await explainRequest(gateway.plan, {
    model: 'sim-rerank',
    operation: 'rerank',
    size: undefined,
    quality: undefined,
    n: 1,
  })
  t.match(explained.quote, { n: 1, tier: 'call', price: '0.05', price_at: at, expected: '0.05', at_most: '0.05' })
  const listed = (await listPrices(gateway.plan)).models.find(one => one.name === 'sim-rerank')
  t.same(listed?.units, [{ unit: 'call', price: '0.05', per: 1 }])
  const page = await (await fetch(`${url}/pricing?lang=en`)).text()
  const [row = ''] = /<tr(?:(?!<tr)[^])*>sim-rerank<[^]*?<\/tr>/.exec(page) ?? []
  t.match(row.replaceAll(/<[^>]*>/g, ' '), /call +0\.05 +USD/)
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [bin, 'explain', 'request', '--model', 'sim-rerank', '-c', config],
    {
      env: { ...process.env, ...env },
    },
  )
  t.match(stdout, `price      call: 0.05 USD each (${at})`)
})

t.test('[8.1] its charge is held, settled, and explained to client, console and operator in its own words', async t => {
  const { at, gateway, url, ask, get, settled, config, env } = await run(t)
  const answer = await ask()
  t.equal(answer.status, 200, await answer.text())
  const id = answer.headers.get('x-request-id') ?? ''
  const explained = (await (await get(`/v1/charges/${id}`)).json()) as object
  t.match(explained, {
    state: 'settled',
    amount: '0.05',
    text: '1 call',
    count: null,
    sum: '0.05 = 0.05 USD',
    lines: [{ why: '1 call × 0.05', at, quantity: 1, price: '0.05' }],
    rule: { kind: 'call-fee', text: 'one price for each request that is answered', rows: [{ tier: 'call', at }] },
  })
  await settled()
  const admin = await enterAsAdmin({ gateway, url } as Parameters<typeof enterAsAdmin>[0])
  const shown = (await admin.get(`/api/logs/${id}`)).body
  t.match(shown, {
    explanation: { ...explained, delivery: 'confirmed' },
    billing: { ...explained, delivery: 'confirmed' },
  })
  const poor = await ask()
  t.equal(poor.status, 402, 'a request above the budget is refused before an upstream call')
  t.match(await poor.text(), 'budget has 0.02 USD left')
  const cli = { env: { ...process.env, ...env } }
  const { stdout } = await promisify(execFile)(process.execPath, [bin, 'explain', 'log', id, '-c', config], cli)
  t.match(stdout, `#0  1 call × 0.05  →  0.05 USD  (${at})`)
})

t.test('[8.1] its charges are replayed from their stored facts, and a forged one is found', async t => {
  const { gateway, ask, settled, config, env } = await run(t)
  const id = (await ask()).headers.get('x-request-id') ?? ''
  await settled()
  const charge = await gateway.storage.ledger.find(id)
  if (!charge) throw new Error('there is no charge')
  t.same(await replayCharge(charge, gateway.plan), [])
  const lines = charge.lines.map(line => ({ ...line, price: 1 }))
  t.match(await replayCharge({ ...charge, lines }, gateway.plan), [/the price of line 0 in micros is 1.*give 50000/])
  t.match(await replayCharge(charge), [/no configured plugin can recompute its rule 'call-fee'/])
  const cli = { env: { ...process.env, ...env } }
  const { stderr } = await promisify(execFile)(process.execPath, [bin, 'ledger', 'replay', '-c', config], cli)
  t.match(stderr, '1 charges replayed, 0 differ')
})

t.test("[8.1] check reports a missing price at the model's line", async t => {
  const { config, env } = await lay(t)
  const text = await readFile(config, 'utf8')
  await writeFile(config, editYaml(text, [{ 'models/sim-rerank/prices': { calls: '0.05' } }]))
  const loaded = await loadConfig(config, env)
  t.match(loaded, { ok: false, findings: [{ code: 'call_unpriced', path: 'models.sim-rerank.prices' }] })
})
