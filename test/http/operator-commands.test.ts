import { appendFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { openDatabase } from '../harness/database.ts'
import { prepareSite, runTollgate } from '../harness/child.ts'
import { openOperated } from '../harness/operated.ts'
import { caseName } from '../harness/case-name.ts'

t.test('commands inspect a running gateway and its storage', async t => {
  const { gateway, tollgate, site, url, ops } = await openOperated(t)

  await t.test('healthcheck and doctor report a healthy gateway', async t => {
    t.match(await tollgate('healthcheck'), { code: 0, stdout: '' })
    t.match(await tollgate('healthcheck', '--ready'), { code: 0 })
    const { code, stdout, stderr } = await tollgate('doctor')
    t.equal(code, 0, stdout + stderr)
    for (const line of [/^ok +node/m, /^ok +storage +reached, writable/m, /^ok +upstream alpha +reached/m])
      t.match(stdout, line, caseName({ line }))
    t.match(stdout, /^ok +server\.listen +\S+ is in use by the running gateway/m)
    t.match(stdout, /^warn +upstream beta +simulated/m)
  })

  await t.test('models test sends one small request each, and asks before it buys', async t => {
    t.match(await tollgate('models', 'test', 'alpha-image-2'), { code: 2, stderr: /Use --yes/ })
    t.match(await tollgate('models', 'test', 'no-such'), { code: 2, stderr: /unknown model/ })
    const free = await tollgate('models', 'test', 'sim-chat', 'sim-transcription', 'sim-speech', '--format', 'json')
    t.equal(free.code, 0, free.stdout + free.stderr)
    t.equal(free.stdout.trim().split('\n').length, 3)
    t.match(await tollgate('models', 'test', 'alpha-image-2', '--yes'), {
      code: 0,
      stdout: /^ok +alpha-image-2 .* 200 .* 0\.02 USD/,
    })
    t.match((await tollgate('keys', 'list')).stdout, /models test.*revoked/, 'its key is deleted')
  })

  await t.test("a command on another storage than the gateway's is detected", async t => {
    const elsewhere = { ...site, database: `${site.database}-elsewhere` }
    const env = { TOLLGATE_OPS: ops.replace('http://', ''), TOLLGATE_LISTEN: url.replace('http://', '') }
    const run = (...words: readonly string[]) => runTollgate(elsewhere, [...words, '-c', site.config], env)
    t.match(await run('models', 'test', 'sim-chat'), {
      code: 1,
      stdout: '',
      stderr: /created an empty storage, because .*-elsewhere did not exist[^]*does not know the keys of this storage/,
    })
    const { stderr } = await run('keys', 'list')
    t.notMatch(stderr, /created an empty storage/, 'it is there by now')
  })

  await t.test('models list shows the upstreams and price of each', async t => {
    const { stdout } = await tollgate('models', 'list')
    t.match(stdout, /^MODEL +FAMILY +OPERATIONS +UPSTREAMS +PRICE \(USD\)\n/)
    t.match(stdout, /^alpha-image-2 +alpha-image +image\.generate image\.edit +alpha +1K 0\.02, 2K 0\.04, 4K 0\.08$/m)
    t.match(stdout, /^sim-chat +chat +chat responses \S+ \S+ and \d+ more +text/m, 'a line fits the screen')
    t.match(stdout, /^sim-moderation .* text \(simulated\) +free$/m)
    const records = (await tollgate('models', 'list', '--format', 'json')).stdout.trim().split('\n')
    t.match(JSON.parse(records[0] ?? ''), { name: 'alpha-image-2', free: false, upstreams: ['alpha'] })
  })

  await t.test('usage adds up charges', async t => {
    const { stdout } = await tollgate('usage', '--by', 'model', '--format', 'csv')
    t.match(stdout, /^model,currency,requests,images,input_tokens,output_tokens,amount,refunded\n/)
    t.match(stdout, /^alpha-image-2,USD,1,1,0,0,0\.02,0\.00$/m)
    const byKey = (await tollgate('usage', '--by', 'key')).stdout
    t.match(byKey, /^key .*refunded +name\nkey_\S+ .* \S+$/m, 'the name of a key is shown')
    t.match((await tollgate('usage')).stderr, /^from .* until now \(UTC\)$/m, 'the time span is always shown')
    const month = new Date().toISOString().slice(0, 7)
    t.match(await tollgate('statement', '--month', month, '--user', 'nobody'), {
      code: 2,
      stderr: /there is no user 'nobody'/,
    })
    t.match(await tollgate('statement', '--month', '2020-01', '--user', 'local'), {
      code: 0,
      stderr: /no charges up to the end of that month/,
    })
    t.match(await tollgate('users', 'erase', 'local', '--dry-run'), { code: 1, stderr: /'local' is not a person/ })
    t.match(await tollgate('usage', '--since', 'soon'), { code: 2, stderr: /--since soon: expected a date/ })
  })

  await t.test('a file with a syntax error does not hide the gateway that runs without it', async t => {
    const text = await readFile(site.config)
    await appendFile(site.config, 'half: [1,\n')
    t.match(await tollgate('healthcheck'), { code: 0 })
    t.match(await tollgate('status'), { code: 0, stdout: /^gateway +ready/m })
    t.match(await tollgate('reload'), { code: 3, stderr: /:\d+:\d+ .*not YAML/ })
    await writeFile(site.config, text)
    t.match(await tollgate('reload'), { code: 0 })
    await writeFile(site.config, 'half: [1,\n')
    t.match(await tollgate('status'), { code: 4, stderr: /tollgate check reports its errors/ })
    await writeFile(site.config, text)
  })

  await gateway.stop()
  t.match(await tollgate('healthcheck'), { code: 1 })
  t.match(await tollgate('models', 'test', 'sim-chat'), { code: 4 })
})

t.test('doctor reports each fault with its remedy, and exits with 1', async t => {
  const folder = t.testdir()
  const site = await prepareSite(folder, { upstreams: { alpha: 'http://127.0.0.1:9' } })
  const bad = await runTollgate(site, ['doctor', '-c', site.config], {
    TOLLGATE_COUNTERS: 'redis://127.0.0.1:9',
    ALPHA_URL: 'http://127.0.0.1:9',
  })
  t.equal(bad.code, 1)
  t.match(bad.stdout, /^fail +upstream alpha +127\.0\.0\.1:9: .*→/m)
  t.match(bad.stdout, /^fail +counters +redis does not respond .*→/m)
  const db = site.config.replace(/[^/]*$/, 'gone.db')
  const held = await openDatabase({ url: `sqlite:${db}`, role: 'tool' })
  await held.users.create({ name: 'ann', group: 'vip', role: 'user', passwordHash: null }, 'test')
  await held.close()
  t.match(
    (await runTollgate(site, ['doctor', '-c', site.config], { TOLLGATE_STORAGE: `sqlite:${db}` })).stdout,
    /^warn +group vip +.*1 person and 0 keys in it are refused/m,
  )
  await writeFile(join(folder, 'broken.yaml'), 'version: 2\n')
  t.match(await runTollgate(site, ['doctor', '-c', join(folder, 'broken.yaml')], {}), {
    code: 1,
    stdout: /^fail +configuration .*→ +run tollgate check/m,
  })
})
