import { writeFile } from 'node:fs/promises'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { start, type StartOptions } from '../harness/start.ts'
import { enterAsAdmin } from '../harness/visitor.ts'

async function openDesk(t: Test, options: StartOptions = {}) {
  const started = await start(t, { upstreams: ['alpha'], ...options })
  return { started, admin: await enterAsAdmin(started) }
}

t.test('the configuration is shown without its secrets, with the origin of its values', async t => {
  const secret = 'sk-live-0123456789abcdef'
  const { started, admin } = await openDesk(t, {
    edit: [
      [
        'credential: { header: authorization, value: "Bearer ${BETA_API_KEY:-}" }',
        `credential: { header: x-api-key, value: ${secret} }   # was sk-old-0123456789`,
      ],
    ],
  })
  const answer = await admin.get('/api/config')
  const shown = answer.body as { text: string; origins: { path: string; value: string; from: string; line: number }[] }
  t.notOk(answer.text.includes(secret))
  t.notOk(answer.text.includes('sk-old-0123456789'))
  t.notOk(answer.text.includes('upstream-secret-of-alpha'))
  t.doesNotThrow(() => parse(shown.text), 'it is YAML still')
  const at = (path: string) => shown.origins.find(one => one.path === path)
  t.match(at('upstreams.alpha.credential.value'), { value: '***', from: 'environment' })
  t.match(at('upstreams.beta.credential.value'), { value: '***', from: 'file' })
  t.match(at('upstreams.alpha.url'), { value: started.upstreams['alpha']?.url, from: 'environment' })
  t.match(at('counters'), { value: 'memory:', from: 'default' })
  const line = shown.text.split('\n')[(at('currency')?.line ?? 0) - 1]
  t.equal(line, 'currency: USD')
  t.match(answer.body, { revision: started.plan.revision, last_reload: null })
})

t.test('a pasted configuration is checked, and none of its code runs', async t => {
  const { started, admin } = await openDesk(t)
  const { text } = (await admin.get('/api/config')).body as { text: string }
  const check = async (changed: string) =>
    (await admin.post('/api/config/check', { text: changed })).body as { ok: boolean; findings: object[] }
  t.match(await check(text), { ok: true })
  t.match(await check(text.replace('version: 1', 'version: 9')), {
    ok: false,
    findings: [{ line: 8, path: 'version' }],
  })
  await writeFile(`${started.folder}/evil.ts`, 'globalThis.evil = true; export default {}')
  const evil = await check(text.replace('pipeline: [auth,', 'pipeline: [./evil.ts, auth,'))
  t.equal(evil.ok, false)
  t.equal((globalThis as { evil?: boolean }).evil, undefined, 'code that it names is not loaded')
  const leak = await check(text.replace('currency: USD', 'currency: "${file:/etc/passwd}"'))
  t.notMatch(JSON.stringify(leak), /root:/, 'a file that it names is not revealed')
  t.equal((await admin.post('/api/config/check', { text: 'x'.repeat(2_000_000) })).status, 413)
})

t.test('a reload from the console is all or nothing, and is recorded', async t => {
  const { started, admin } = await openDesk(t)
  await started.reload([['"0.04"', '"0.05"']])
  t.match((await admin.get('/api/config')).body, { last_reload: { ok: true, changes: [/0\.04 USD → 0\.05 USD/] } })
  t.match((await admin.post('/api/config/reload')).body, { ok: true, changes: [] })
  const failed = await started.reload([['"0.05"', '"free"']])
  t.equal(failed.ok, false)
  t.match((await admin.post('/api/config/reload')).body, { ok: false, findings: [{ code: 'value_malformed' }] })
  t.match((await admin.get('/api/config')).body, { last_reload: { ok: false } })
})

t.test("a quote equals the gateway's hold", async t => {
  const { admin } = await openDesk(t)
  const ask = async (body: object) => (await admin.post('/api/explain', body)).body
  t.match(await ask({ model: 'alpha-image-2', operation: 'image.generate', size: '3840x2160', n: 3 }), {
    expected_size: '1672x941',
    alias: null,
    cache: null,
    sent: { model: /./, n: 3 },
    quote: { n: 3, tier: '2K', expected: '0.12' },
  })
  t.match(await ask({ model: 'beta-imagine-image', operation: 'image.generate', size: '3840x2160' }), {
    quote: { tier: '4K', source: 'request' },
  })
  t.match(await ask({ model: 'nothing', operation: 'image.generate' }), {
    error: { code: 'model_not_found', field: 'model' },
  })
})

t.test('the schemas of the admin API cause no warnings, and an error lists null among the values', async t => {
  const warnings = t.capture(console, 'warn')
  const started = await start(t, { simulated: true })
  const admin = await enterAsAdmin(started)
  const body = { name: 'weekly', budget: '1', budget_period: 'month', budget_resets_on: '15' }
  const refused = await admin.post('/api/keys', body)
  t.match(refused.body, { error: { field: 'budget_resets_on', values: { allowed: /, 28, null$/ } } })
  t.strictSame(
    warnings().map(({ args }) => args[0] as unknown),
    [],
  )
})
