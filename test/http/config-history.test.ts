import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import type { ConfigTaken } from '../../src/index.ts'
import { start, type Started } from '../harness/start.ts'
import { enterAsAdmin } from '../harness/visitor.ts'

/** What is kept by now, the oldest first, when so many are there. */
async function kept({ gateway }: Started, count: number): Promise<readonly ConfigTaken[]> {
  const end = performance.now() + 30_000
  for (;;) {
    const rows = await gateway.storage.configs.list({ limit: 100 })
    if (rows.length >= count || performance.now() > end) return rows.toReversed()
    await new Promise(resolve => setTimeout(resolve, 5))
  }
}

t.test('every configuration that takes effect is kept once, without its secrets', async t => {
  const literal = 'sk-literal-0123456789'
  const started = await start(t, {
    upstreams: ['alpha'],
    edit: [
      ['Bearer ${BETA_API_KEY:-}', `Bearer ${literal}`],
      ['currency: USD', `currency: USD # once ${literal}`],
    ],
  })
  const admin = await enterAsAdmin(started)
  t.match(await kept(started, 1), [{ id: 1, how: 'start', by: null, revision: started.plan.revision, changes: [] }])
  const first = await started.gateway.storage.configs.find(1)
  t.match(first?.files, [{ file: 'gateway.yaml' }])
  t.equal(first?.files[0]?.text, ((await admin.get('/api/config')).body as { text: string }).text, 'as it is shown')
  t.notMatch(JSON.stringify(first), /sk-literal|upstream-secret/)
  t.match(first?.settings, { currency: 'USD' })

  await started.gateway.reload({ how: 'signal', by: null })
  await started.reload([['"0.04"', '"0.05"']])
  t.match((await kept(started, 2))[1], {
    id: 2,
    how: 'program',
    changeCount: 1,
    changes: [/2K: 0\.04 USD → 0\.05 USD/],
  })
  // Its place is known; what it was and is stands nowhere.
  await started.reload([[`Bearer ${literal}`, 'Bearer sk-literal-9876543210']])
  const secret = (await kept(started, 3))[2]
  t.match(secret, {
    revision: (await kept(started, 2))[1]?.revision,
    changes: ['upstreams.beta.credential.value: changed'],
  })
  t.notMatch(JSON.stringify(await started.gateway.storage.configs.find(3)), /sk-literal/)
  t.match((await admin.post('/api/config/reload')).body, { ok: true, changes: [] })
  await started.reload([['"0.05"', '"free"']])
  const response = await fetch(`${started.opsUrl}/reload`, { method: 'POST' })
  t.equal(response.status, 422)
  await started.reload([
    ['"free"', '"0.05"'],
    ['version: 1', '# a note\nversion: 1'],
  ])
  t.match((await kept(started, 4))[3], { id: 4, revision: secret?.revision, changes: [], changeCount: 0 })
  const again = await started.reopen()
  await again.gateway.reload()
  t.equal((await kept(again, 4)).length, 4, 'what is refused, is there already or only started again is not kept')
})

t.test('who changed it in the console is kept, and how else it came', async t => {
  const started = await start(t, {
    simulated: true,
    onDisk: true,
    edit: [['server:\n', 'server:\n  console_edits: on\n']],
  })
  const file = join(started.folder, 'gateway.yaml')
  const original = await readFile(file, 'utf8')
  const root = await enterAsAdmin(started)
  const edits = [{ path: ['models', 'alpha-image-2', 'prices', '2K'], value: '0.05' }]
  const { base } = (await root.post('/api/config/propose', { edits })).body as { base: string }
  t.match((await root.post('/api/config/write', { edits, base })).body, { ok: true })
  t.match((await kept(started, 2))[1], { how: 'edit', by: 'root', changes: [/0\.05/] })
  const write = (price: string) => writeFile(file, original.replace('2K: "0.04"', `2K: "${price}"`))
  await write('0.06')
  t.match((await root.post('/api/config/reload')).body, { ok: true })
  t.match((await kept(started, 3))[2], { how: 'console', by: 'root' })
  await write('0.07')
  t.equal((await fetch(`${started.opsUrl}/reload`, { method: 'POST' })).status, 200)
  t.match((await kept(started, 4))[3], { how: 'command', by: null })
})
