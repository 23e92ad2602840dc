import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { reloadUnderLoad } from '../faults/reload-under-load.ts'
import { askOnce } from '../harness/ask.ts'
import { prepareSite } from '../harness/child.ts'
import { runCli } from '../harness/cli.ts'
import { caseName } from '../harness/case-name.ts'

const folders: string[] = []
async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-reload-'))
  folders.push(folder)
  return folder
}
t.teardown(() => Promise.all(folders.map(folder => rm(folder, { recursive: true, force: true }))))

t.test('reloads drop nothing, and each request sees one configuration from its head to its charge [O1]', async t => {
  // `npm run test:reload` runs a thousand reloads in a minute.
  const figures = await reloadUnderLoad(await makeFolder(), { reloads: 50, seconds: 4, rps: 50, streams: 5 })
  t.strictSame(figures.dropped, [])
  t.strictSame(figures.mixed, [])
  t.equal(figures.requests, 250)
  t.ok(figures.streams >= 5)
  t.comment(JSON.stringify(figures.p99Ms))
})

t.test('an invalid file has no effect, and is reported with its position [O2]', async t => {
  const site = await prepareSite(await makeFolder(), { upstreams: {} })
  const gateway = site.start()
  t.teardown(() => gateway.kill())
  const url = await gateway.ready
  const good = await readFile(site.config, 'utf8')
  const cases: readonly (readonly [name: string, text: string, told: RegExp])[] = [
    ['not YAML', good.replace('currency: USD', 'currency: [USD'), /not YAML/],
    ['half of it', good.slice(0, good.indexOf('\nroutes:')), /'routes' is missing/],
    ['nothing', '', /empty|missing/],
    ['a key twice', good.replace('version: 1', 'version: 1\nversion: 1'), /'version' is set twice here/],
    ['an unknown key', good.replace('\nserver:\n', '\nserver:\n  lisen: x\n'), /unknown key 'lisen'/],
  ]
  for (const [name, text, expected] of cases) {
    const from = gateway.said().length
    await writeFile(site.config, text)
    gateway.signal('SIGHUP')
    await gateway.hears(/the new configuration was rejected; the old one stays/, from)
    t.match(await gateway.hears(expected, from), [expected], name)
    t.equal(
      (await askOnce(url, { model: 'alpha-image-2', prompt: 'a' }, { key: site.key })).status,
      200,
      caseName({ name, text, expected }),
    )
    const bad = join(site.folder, 'bad')
    await writeFile(join(site.folder, 'bad.yaml'), text)
    t.equal((await runCli(site, 'check', `${bad}.yaml`)).code, 3, caseName({ name, text, expected }))
  }
  const from = gateway.said().length
  await rm(site.config)
  await promisify(execFile)('mkfifo', [site.config])
  t.match(
    await gateway.hears(/it is a pipe or a device/, from),
    ['it is a pipe or a device'],
    'a pipe in the place of the file',
  )
  t.notMatch(gateway.said(), /^reloaded/m)
  await gateway.stop()
})
