import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { showConfig } from '../../src/config/index.ts'
import { describeFindings, lintConfig, loadConfig, traceConfig } from '../../src/index.ts'
import { makeFolder, root } from '../harness/folder.ts'

const shipped = await readFile(join(root, 'gateway.yaml'), 'utf8')

/** A folder with the shipped configuration, an `include` line, and the given files. */
async function makeSite(
  t: Test,
  include: string,
  files: { readonly [name: string]: string },
  change = (text: string) => text,
) {
  const place = await makeFolder(t)
  await writeFile(
    place.path('gateway.yaml'),
    change(shipped.replace('\nserver:\n', `\ninclude: ${include}\nserver:\n`)),
  )
  for (const [name, text] of Object.entries(files)) {
    await mkdir(join(place.folder, name, '..'), { recursive: true })
    await writeFile(place.path(name), text)
  }
  const load = () => loadConfig(place.path('gateway.yaml'), {})
  const find = async () => {
    const loaded = await load()
    return (loaded.ok ? loaded.notes : loaded.findings).map(({ file, line, col, code, message, caret }) => {
      return {
        at: `${file.replace(`${place.folder}/`, '')}:${line}:${col}`,
        code,
        message: message.replaceAll(`${place.folder}/`, ''),
        caret,
      }
    })
  }
  return { ...place, load, find }
}

const chat = (name: string): string =>
  `models:\n  ${name}: { family: chat, upstream: text, prices: { input: "1", output: "2" } }\n`

t.test('included files are read as if inline, each value with its own position', async t => {
  const site = await makeSite(t, '[vendors/*.yaml, more.yaml]', {
    'vendors/b.yaml': chat('of-b'),
    'vendors/a.yaml': `include: [deeper/x.yaml]\n${chat('of-a')}`,
    'vendors/deeper/x.yaml': chat('of-x'),
    'more.yaml': 'groups:\n  third: { rpm: 5 }\nroutes:\n  - { match: POST /more, operation: chat, dialect: openai }\n',
  })
  const loaded = await site.load()
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.findings))
  const { plan } = loaded
  t.same(
    ['of-a', 'of-b', 'of-x'].map(name => plan.models.get(name)?.prices.get('output')?.origin),
    [
      { file: site.path('vendors/a.yaml'), line: 3, col: 71 },
      { file: site.path('vendors/b.yaml'), line: 2, col: 71 },
      { file: site.path('vendors/deeper/x.yaml'), line: 2, col: 71 },
    ],
  )
  t.equal(plan.groups.get('third')?.limits.rpm, 5)
  t.equal(plan.routes.at(-1)?.path, '/more')
  t.same(plan.files, {
    named: ['vendors/a.yaml', 'vendors/deeper/x.yaml', 'vendors/b.yaml', 'more.yaml'].map(site.path),
    patterns: [site.path('vendors/*.yaml')],
  })
})

t.test('the same settings in one file and in several are one revision', async t => {
  const site = await makeSite(t, '[more.yaml]', { 'more.yaml': 'groups: { third: { rpm: 5 } }\n' })
  const several = await site.load()
  const text = shipped.replace(/^groups:\n/m, 'groups:\n  third: { rpm: 5 }\n')
  const one = await loadConfig({ text, file: site.path('gateway.yaml') }, {})
  t.ok(several.ok && one.ok && several.plan.revision === one.plan.revision)
})

t.test('a name that two files set is refused with both positions', async t => {
  const site = await makeSite(t, '[a.yaml, b.yaml]', {
    'a.yaml': `${chat('twice')}currency: EUR\nversion: 1\npipeline: [auth]\n`,
    'b.yaml': chat('twice'),
  })
  const line = (start: string): number =>
    shipped
      .replace('\nserver:\n', '\ninclude: x\nserver:\n')
      .split('\n')
      .findIndex(one => one.startsWith(start)) + 1
  t.same(
    (await site.find()).map(({ at, code, message }) => [at, code, message]),
    [
      ['a.yaml:3:1', 'name_twice', `'currency' is set here, and at gateway.yaml:${line('currency')}`],
      ['a.yaml:5:1', 'name_twice', `'pipeline' is set here, and at gateway.yaml:${line('pipeline')}`],
      ['b.yaml:2:3', 'name_twice', `'twice' is set here, and at a.yaml:2`],
    ],
  )
})

t.test('an error in an included file has its file, line and column, with a caret; nothing follows from it', async t => {
  const site = await makeSite(t, '[a.yaml]', {
    'a.yaml': 'models:\n  one: { family: chats, upstream: text, price: free }\n',
  })
  const [finding, ...more] = await site.find()
  t.match(finding, { at: 'a.yaml:2:18', code: 'family_unknown', caret: /\n {17}\^~~~~$/ })
  t.same(more, [])
  await writeFile(site.path('a.yaml'), 'upstreams: {\n')
  t.match(await site.find(), [{ at: /^a\.yaml:2:1/, code: 'yaml_syntax' }])
  t.equal((await site.find()).length, 1, 'settings of the missing file are not reported as missing')
})

t.test('missing, circular or invalid files are refused at their place', async t => {
  const at = shipped.split('\n').indexOf('server:') + 1
  const rows = [
    ['[gone.yaml]', {}, `gateway.yaml:${at}:11`, 'file_unreadable', /^gone\.yaml cannot be read: ENOENT$/],
    ['[gateway.yaml]', {}, `gateway.yaml:${at}:11`, 'include_circle', /gateway\.yaml → gateway\.yaml$/],
    [
      '[a.yaml]',
      { 'a.yaml': 'include: [b/b.yaml]\n', 'b/b.yaml': 'include: [../a.yaml]\n' },
      'b/b.yaml:1:11',
      'include_circle',
      /a\.yaml → b\/b\.yaml → a\.yaml$/,
    ],
    ['[a.yaml]', { 'a.yaml': '- one\n' }, 'a.yaml:1:1', 'include_not_settings', /same top-level keys/],
    ['["${HERE}.yaml"]', {}, `gateway.yaml:${at}:11`, 'file_name_reference', /cannot contain references/],
    ['[none/*.yaml]', {}, `gateway.yaml:${at}:11`, 'file_pattern_empty', /no file matches/],
    ['a.yaml', {}, `gateway.yaml:${at}:10`, 'value_type', /not a list/],
    ['[.]', {}, `gateway.yaml:${at}:11`, 'file_unreadable', /not a file|EISDIR/],
  ] as const
  for (const [include, files, place, code, message] of rows)
    t.match(await (await makeSite(t, include, files)).find(), [{ at: place, code, message }], include)
  const twice = await makeSite(t, '[a.yaml, "*.yaml"]', { 'a.yaml': chat('one'), 'b.yaml': 'include: [a.yaml]\n' })
  t.same(
    await twice.find(),
    [],
    'a file that is named twice is read once, and a pattern does not mean the file it stands in',
  )
})

t.test('secrets of included files are never shown, in valid and invalid files', async t => {
  const secret = 'hush-hush-4711'
  const credential = `upstreams:\n  hidden:\n    url: https://x.example\n    headers: { x-own: ${secret} }\n    credential: { header: x-key, value: "${secret}" }\n`
  const site = await makeSite(t, '[a.yaml]', { 'a.yaml': credential })
  for (const text of [
    credential,
    `${credential}    nonsense: { a: ${secret} }\n`,
    credential.replace('https', 'ftp'),
    `${credential}  broken: {\n    x: ${secret}\n`,
    credential.replace(`value: "${secret}"`, `value: "${secret}`),
    `${secret}: [\n`,
    `- ${secret}\n`,
    secret,
  ]) {
    await writeFile(site.path('a.yaml'), text)
    const file = site.path('gateway.yaml')
    const loaded = await site.load()
    const texts = [
      loaded,
      loaded.ok ? loaded.plan.settings : await describeFindings(loaded.findings, { color: false }),
      await traceConfig(file, {}),
      await lintConfig(file, [], {}),
      await showConfig(file, await readFile(file, 'utf8'), {}),
    ]
    if (loaded.ok) texts.shift()
    t.notMatch(JSON.stringify(texts), secret, text)
  }
})

t.test('a pasted text may name only files of the current configuration', async t => {
  const site = await makeSite(t, '[a.yaml]', { 'a.yaml': chat('one'), 'other.yaml': chat('two') })
  const { loadPlan } = await import('../../src/config/index.ts')
  const { knownNames } = await import('../../src/gateway/known-names.ts')
  const { pluginFinder } = await import('../../src/gateway/plugin-finder.ts')
  const file = site.path('gateway.yaml')
  const check = async (include: string) => {
    const text = shipped.replace('\nserver:\n', `\ninclude: ${include}\nserver:\n`)
    const loaded = await loadPlan({
      file,
      text,
      env: {},
      ...pluginFinder(file),
      known: knownNames,
      readable: new Set([site.path('a.yaml')]),
    })
    return (loaded.ok ? loaded.notes : loaded.findings).map(({ code }) => code)
  }
  t.same(await check('[a.yaml]'), [])
  t.same(await check('[other.yaml]'), ['file_unreadable'])
  t.same(await check('["*.yaml"]'), [])
  t.same(await check('[/etc/passwd]'), ['file_unreadable'])
})

t.test('a secret file is resolved relative to the file that names it', async t => {
  const site = await makeSite(t, '[parts/a.yaml]', {
    'parts/a.yaml': 'upstreams:\n  own: { url: "https://x.example", headers: { x-own: "${file:secret}" } }\n',
    'parts/secret': 'from beside\n',
  })
  const loaded = await site.load()
  t.equal(loaded.ok && loaded.plan.upstreams.get('own')?.headers['x-own'], 'from beside')
})

t.test('lint checks included files, and respects their silencing comments', async t => {
  const risky = 'groups:\n  open: {}\n  quiet: { shadow: [] } # tollgate-ignore: group-without-limits for a test\n'
  const site = await makeSite(t, '[a.yaml]', { 'a.yaml': risky })
  const { stdout, stderr } = await site.run('lint')
  t.match(stdout + stderr, /^a\.yaml:2:3 .*'open' has no limit/m)
  t.notMatch(stdout + stderr, /quiet/)
  t.match(await site.run('config', 'groups.quiet', '--show-origin'), { stdout: /a\.yaml:3:\d/ })
})
