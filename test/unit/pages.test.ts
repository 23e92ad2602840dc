import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Ajv } from 'ajv'
import t from 'tap'
import { errorShapes } from '../../src/admin/openapi/errors.ts'
import { findOperation } from '../../src/operations/index.ts'
import { html } from '../../src/admin/pages/html.ts'
import { chooseLanguage } from '../../src/admin/pages/language.ts'
import { pagesCss } from '../../src/admin/pages/style.ts'
import { renderTable } from '../../src/admin/pages/table.ts'
import { dialects } from '../../src/dialects/index.ts'
import { failures } from '../../src/kit/index.ts'
import { listPrices, loadConfig } from '../../src/index.ts'

const shipped = resolve(import.meta.dirname, '../../gateway.yaml')

t.test('a template escapes what it is given, and takes markup from nobody but itself', async t => {
  const hostile = `<a href="x" title='y'>&</a>`
  t.equal(html`<p title="${hostile}">${hostile}</p>`.text, html`<p title="${hostile}">${[hostile]}</p>`.text)
  t.equal(html`<p>${hostile}</p>`.text, '<p>&lt;a href=&quot;x&quot; title=&#39;y&#39;&gt;&amp;&lt;/a&gt;</p>')
  t.equal(html`${[html`<b>${1}</b>`, null, undefined, false, ['x', html`<i></i>`]]}`.text, '<b>1</b>x<i></i>')
})

t.test('marks that hide or turn a text are shown as what they are', async t => {
  for (const mark of ['\u202e', '\u200b', '\u2066', '\ufeff', '\u001b', '\u0000', '\u0085'])
    t.equal(html`${`a${mark}b`}`.text, 'a\ufffdb')
  t.equal(html`${'a\n\tb 中文 é'}`.text, 'a\n\tb 中文 é')
})

t.test('a language is what was asked for, else what is preferred, else English', async t => {
  for (const [asked, accepted, chosen] of [
    ['zh', 'en', 'zh'],
    ['fr', 'zh', 'zh'],
    [undefined, undefined, 'en'],
    [undefined, 'zh-TW', 'zh'],
    [undefined, 'zho', 'en'],
    [undefined, 'en;q=0, zh', 'zh'],
    [undefined, 'zh;q=0', 'en'],
    [undefined, 'en;q=0.5,zh;q=0.5', 'en'],
    [undefined, 'zh;q=lots', 'en'],
    [['zh', 'en'], undefined, 'en'],
  ] as const)
    t.equal(chooseLanguage(asked, accepted), chosen, `${String(asked)} ${accepted}`)
})

t.test('a table leaves out the columns that say nothing, and names each cell for those who see it alone', async t => {
  const table = renderTable(
    'Prices',
    ['Tier', 'Price', 'Remark'],
    [
      ['1K', '0.02', null],
      ['2K', false, ''],
    ],
  ).text
  t.notMatch(table, /Remark/)
  t.match(table, /<th scope="row">1K<\/th><td data-name="Price">0\.02<\/td>/)
  t.match(table, /<th scope="row">2K<\/th><td class="empty"><\/td>/)
})

t.test('the pages wear the colours and measures of the console', async t => {
  const theme = await readFile(new URL('../../src/console/styles/theme.css', import.meta.url), 'utf8')
  const tokens = (text: string) =>
    new Map([...text.matchAll(/(--[\w-]+):\s*([^;]+);/g)].map(([, name = '', value = '']) => [name, value] as const))
  const console = tokens(theme)
  const own = tokens(pagesCss)
  t.ok(own.size > 15)
  for (const [name, value] of own) t.equal(value, console.get(name), name)
})

t.test('the described shape of an error is what its style says', async t => {
  const fail = failures({
    body_too_large: { status: 413, type: 'invalid_request_error', text: 'The body is too large.' },
  })
  const ajv = new Ajv({ allErrors: true, allowUnionTypes: true })
  for (const style of ['openai', 'anthropic', 'google', 'cohere']) {
    const { body } = dialects.get(style)?.error(fail('body_too_large'), 'req_1') ?? {}
    const shape = errorShapes[style]
    t.ok(shape, style)
    t.ok(ajv.validate(shape ?? false, JSON.parse(String(body))), `${style}: ${ajv.errorsText()}`)
  }
})

t.test('a sample stays one word of a shell and one text of a language, whatever a model is called', async t => {
  const model = `x'; rm -rf "$HOME" \`id\``
  const call = { baseUrl: 'http://127.0.0.1:8080', path: '/v1/images/edits', model }
  const [curl, python, node] = findOperation('image.edit')?.samples?.(call) ?? []
  t.match(curl?.source, `-F 'model=x'\\''; rm -rf "$HOME" \`id\`'`)
  for (const sample of [python, node])
    t.ok(sample?.source.includes(`${JSON.stringify(model)},`), sample?.label ?? 'no sample')
  t.match(
    findOperation('generate')?.samples?.({ ...call, path: '/v1/models/{model}:generateContent' })[0]?.source,
    /x'\\''%3B%20rm/,
  )
})

t.test('a tier that another source may give is not called unreachable', async t => {
  const reaches = async (tierFrom: string, otherwise: string) => {
    const text = (await readFile(shipped, 'utf8')).replace('tier_from: [output]', `tier_from: ${tierFrom}`)
    const folder = t.testdir({ 'gateway.yaml': text.replace('otherwise: 2K', `otherwise: ${otherwise}`) })
    const loaded = await loadConfig(join(folder, 'gateway.yaml'), {})
    if (!loaded.ok) throw new Error('the configuration is not valid')
    const { models } = await listPrices(loaded.plan)
    return models.find(model => model.family === 'alpha-image')?.images?.tiers.map(tier => tier.reach.kind)
  }
  t.strictSame(await reaches('[output]', '2K'), ['never', 'yes', 'rare'])
  t.strictSame(await reaches('[output]', '1K'), ['yes', 'yes', 'rare'], 'an image that cannot be read is 1K')
  t.strictSame(await reaches('[output, request]', '2K'), ['yes', 'yes', 'yes'])
})
