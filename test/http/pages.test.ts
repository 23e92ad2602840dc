import { execFile } from 'node:child_process'
import { copyFile, readFile, symlink } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { Validator } from '@seriousme/openapi-schema-validator'
import t from 'tap'
import { explainRequest, type CompiledConfig } from '../../src/index.ts'
import { englishRun, vocabulary } from '../harness/one-vocabulary.ts'
import { start } from '../harness/start.ts'
import { enterAsAdmin } from '../harness/visitor.ts'
import { caseName } from '../harness/case-name.ts'

const run = promisify(execFile)
const root = resolve(import.meta.dirname, '../..')
const pages = ['/pricing', '/pricing?model=beta-imagine-image&size=3840x2160&n=2', '/docs'] as const
const languages = ['en', 'zh'] as const

type Document = {
  openapi: string
  paths: {
    [path: string]: {
      [method: string]: {
        operationId: string
        summary: string
        description?: string
        requestBody?: {
          content: { [type: string]: { schema: { properties: { [name: string]: { description: string } } } } }
        }
        responses: { [status: string]: unknown }
        'x-codeSamples'?: { lang: string; label: string; source: string }[]
      }
    }
  }
}
type PriceJson = {
  currency: string
  models: {
    name: string
    free: boolean
    tiers: { tier: string; price: string; reachable: boolean; reason: string | null }[] | null
    units: { unit: string; price: string; per: number }[] | null
    warnings: string[]
    sizes: {
      operation: string
      asked: string | null
      comes_back: string | null
      tier: string | null
      price: string | null
    }[]
  }[]
}

async function pictureIn(folder: string, name: string): Promise<boolean> {
  return (await readFile(join(folder, name))).subarray(1, 4).toString() === 'PNG'
}

/** The id of a request that was charged. */
async function chargedOnce(url: string, key: string): Promise<string> {
  const answer = await fetch(`${url}/v1/images/generations`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'alpha-image-2', prompt: 'a boat' }),
  })
  await answer.arrayBuffer()
  return answer.headers.get('x-request-id') ?? ''
}

/** The texts on a page, in reading order. */
function readPage(page: string): string {
  return page
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/&(lt|gt|quot|amp|#39);/g, (_whole, name: string) => marks[name] ?? '')
    .replaceAll(/\s+/g, ' ')
}

const marks: { readonly [name: string]: string } = { lt: '<', gt: '>', quot: '"', amp: '&', '#39': "'" }
const withLanguage = (path: string, language: string) => `${path}${path.includes('?') ? '&' : '?'}lang=${language}`
const enabled = (plan: CompiledConfig) => [...plan.models.values()].filter(model => model.enabled)

/** The text of a page without what is English on every page: samples, names, and requests and answers. */
function proseOf(page: string): string {
  const silent = /<(pre|code|script|style|textarea)\b[^>]*>.*?<\/\1>|<title>.*?<\/title>/gs
  return page
    .replaceAll(silent, ' · ')
    .replaceAll(/<\/?(?:td|th|li|p|h\d|dt|dd|a|summary|option|button|label|div)\b[^>]*>/g, ' · ')
}

t.test("public pages in Chinese have no English sentence, and use the console's words", async t => {
  const { url } = await start(t, { simulated: true })
  for (const path of pages) {
    const page = readPage(proseOf(await (await fetch(`${url}${path}${path.includes('?') ? '&' : '?'}lang=zh`)).text()))
    t.strictSame([...new Set(page.match(englishRun))], [], path)
    for (const { is, not } of vocabulary) t.notMatch(page, not, caseName({ path, is }))
  }
})

t.test('no page of prices rounds a price or a quote', async t => {
  const { url } = await start(t, {
    simulated: true,
    edit: [
      [/^( {2}beta-imagine-image: .*?)prices: \{[^}]*\}/m, '$1prices: { 1K: "0.0125", 2K: "1234.5678", 4K: "0.9995" }'],
      [
        /^( {2}sim-chat: .*?)prices: \{[^}]*\}/m,
        '$1prices: { input: "1.375", cached_input: "0.125", output: "10.0001", web_search: "12345" }',
      ],
    ],
  })
  for (const language of languages) {
    const asked = `model=beta-imagine-image&operation=image.generate&size=2048x1152&n=2&lang=${language}`
    const page = readPage(await (await fetch(`${url}/pricing?${asked}`)).text())
    for (const price of ['0.0125', '1,234.5678', '0.9995', '1.375', '0.125', '10.0001', '12,345.00'])
      t.ok(page.includes(`${price} USD`), caseName({ language, price }))
    t.ok(page.includes('2 × 1,234.5678 = 2,469.1356 USD'), language)
  }
})

t.test('per-tier prices are published on their own page, for every model (4.4)', async t => {
  const { url, plan } = await start(t, { simulated: true })

  t.test('lists every model with every price, without a sign-in', async t => {
    for (const language of languages) {
      const answer = await fetch(`${url}/pricing?lang=${language}`)
      const markup = await answer.text()
      const page = readPage(markup)
      t.equal(answer.status, 200, caseName({ language }))
      t.match(answer.headers.get('content-type'), /^text\/html/, caseName({ language }))
      const { models } = (await (await fetch(`${url}/api/pricing`)).json()) as PriceJson
      t.same(
        models.map(model => model.name),
        enabled(plan).map(model => model.name),
        caseName({ language }),
      )
      for (const { name, tiers, units } of models) {
        t.ok(markup.includes(`>${name}<`), name)
        for (const { price } of [...(tiers ?? []), ...(units ?? [])])
          t.ok(page.includes(`${price} USD`), `${name} ${price}`)
      }
    }
  })

  t.test('every amount equals the quote of explain', async t => {
    const { models } = (await (await fetch(`${url}/api/pricing`)).json()) as PriceJson
    let compared = 0
    for (const { name, sizes, tiers } of models)
      for (const { operation, asked, comes_back, tier, price } of sizes) {
        const request = { model: name, operation, size: asked ?? undefined, quality: undefined, n: 1 }
        const { quote, expected_size } = await explainRequest(plan, request)
        t.strictSame(
          [comes_back, tier, price],
          [expected_size, quote?.tier, quote?.price],
          `${name} ${operation} ${asked}`,
        )
        for (const row of tiers ?? [])
          t.equal(row.price, quote?.prices[row.tier], caseName({ name, sizes, tiers, operation }))
        compared++
      }
    t.ok(compared > 20)
  })

  t.test('explains why family A never reaches 1K and practically never 4K (4.4.7)', async t => {
    const { models } = (await (await fetch(`${url}/api/pricing`)).json()) as PriceJson
    const tiers = models.find(model => model.name === 'alpha-image-2')?.tiers
    t.match(tiers, [
      { tier: '1K', reachable: false, reason: /never below 1254 px/ },
      { tier: '2K', reachable: true, reason: null },
      { tier: '4K', reachable: true, reason: /Practically never: .*1672/ },
    ])
    t.ok(
      models
        .find(model => model.name === 'beta-imagine-image')
        ?.tiers?.every(row => row.reachable && row.reason === null),
    )
    t.match(await (await fetch(`${url}/pricing?lang=zh`)).text(), /不会出现：这类图片的长边不会小于 1254 像素/)
  })

  t.test('names the cheaper size for a 2K image of family B billed as 4K (4.4)', async t => {
    for (const [language, words] of [
      [
        'en',
        /Charged as 4K, but the image is no larger than 2K \(2816x1584\)\. Request 2048x1152 instead for the same pixels, charged as 2K/,
      ],
      ['zh', /按 4K 计费，但最多只生成 2K 的图片（2816x1584）。改为请求 2048x1152/],
    ] as const)
      t.match(await (await fetch(`${url}/pricing?lang=${language}`)).text(), words, caseName({ language, words }))
    const { models } = (await (await fetch(`${url}/api/pricing`)).json()) as PriceJson
    t.match(
      models.find(model => model.name === 'beta-imagine-image')?.warnings.join(),
      /3840x2160 is billed 4K.*size 2048x1152 is billed 2K/,
    )
  })

  t.test('the calculator is a form that the page answers', async t => {
    const page = async (query: string) => readPage(await (await fetch(`${url}/pricing?lang=en&${query}`)).text())
    t.match(await page('model=beta-imagine-image&operation=image.generate&size=3840x2160&n=3'), /3 × 0\.08 = 0\.24 USD/)
    t.match(await page('model=beta-imagine-image&operation=image.edit&size=&n=1'), /1 × 0\.04 = 0\.04 USD/)
    t.match(await page('model=alpha-image-2&operation=image.generate&size=512x512&n=2'), /2 × 0\.04 = 0\.08 USD/)
    t.match(
      await page('model=alpha-image-2&operation=image.edit&size=512x512&n=2'),
      /≤ 0\.08 USD.*depends on the returned image/s,
    )
    t.match(
      await page('model=beta-imagine-image&size=large&n=1'),
      /would refuse this request:.*does not support the size/s,
    )
    t.match(await page('model=nobody&size=&n=1'), /would refuse this request:.*does not exist/s)
    for (const n of ['0', '-1', '1.5', 'many', ''])
      t.match(await page(`model=alpha-image-2&n=${n}`), /whole number of images, 1 or more/, caseName({ n }))
    t.match(await page('model=alpha-image-2&n=1000000'), /would refuse this request/)
  })
})

t.test('names of models and text of the address are escaped on a page', async t => {
  const name = `<img src=x onerror=alert(1)>"'&\u202egnp`
  const { url } = await start(t, {
    simulated: true,
    edit: [
      [
        '  sim-chat:',
        `  ${JSON.stringify(name)}: { family: beta-image, upstream: beta, prices: { 1K: "1", 2K: "2", 4K: "3" } }\n  sim-chat:`,
      ],
      [
        '        - Links to images are temporary.',
        '        - "<script>alert(2)</script>"\n        - Links to images are temporary.',
      ],
    ],
  })
  const query = new URLSearchParams({
    model: name,
    size: '"><script>alert(3)</script>',
    n: '"><b>',
    lang: '"><i>',
    operation: '<u>',
  })
  for (const path of ['/pricing', '/docs', `/pricing?${query.toString()}`]) {
    const answer = await fetch(url + path, { headers: { 'accept-language': '"><s>' } })
    const page = await answer.text()
    t.equal(answer.status, 200, path)
    t.ok(readPage(page).includes(`<img src=x onerror=alert(1)>"'&\ufffdgnp`), path)
    t.notMatch(
      page,
      /<(?!img src="\/console\/icon\.svg"|script type="module" src="\/console\/assets\/reference-)(?:img|script|i|s|u)[\s>]|\u202e/,
      path,
    )
    t.notMatch(page.replaceAll(/"[^"]*"/g, ''), /<[^>]*\son\w+=/, path)
  }
})

t.test("a page uses the language of the address, else the browser's", async t => {
  const { url } = await start(t, { simulated: true })
  const language = async (path: string, accepted?: string) => {
    const page = await (
      await fetch(url + path, accepted === undefined ? {} : { headers: { 'accept-language': accepted } })
    ).text()
    return /<html lang="([^"]+)"/.exec(page)?.[1]
  }
  for (const path of ['/pricing', '/docs']) {
    t.equal(await language(path, 'zh-CN,zh;q=0.9,en;q=0.8'), 'zh-CN', caseName({ path }))
    t.equal(await language(path, 'fr, en;q=0.7, zh;q=0.8'), 'zh-CN', caseName({ path }))
    t.equal(await language(path, 'en-GB, zh;q=0.8'), 'en', caseName({ path }))
    t.equal(await language(path, 'fr'), 'en', caseName({ path }))
    t.equal(await language(`${path}?lang=en`, 'zh'), 'en', caseName({ path }))
    t.equal(await language(`${path}?lang=zh`), 'zh-CN', caseName({ path }))
    t.equal(await language(`${path}?lang=zh&lang=en`, 'en'), 'en', 'a contradictory query has no effect')
  }
})

t.test('the pages work without a script, and load nothing from other origins', async t => {
  const { url } = await start(t, { simulated: true })
  for (const path of pages)
    for (const language of languages) {
      const answer = await fetch(url + withLanguage(path, language))
      const page = await answer.text()
      t.match(
        answer.headers.get('content-security-policy'),
        /^default-src 'none'; style-src 'self'/,
        caseName({ path, language }),
      )
      // The reference loads one script, which enhances the static page.
      const scripts = page.match(/<script\b[^>]*>[^<]*/gi) ?? []
      const own = /^<script type="module" src="\/console\/assets\/reference-[\w-]+\.js">$/
      t.equal(scripts.length, path === '/docs' ? 1 : 0, path)
      for (const script of scripts) t.match(script, own, path)
      t.notMatch(page, /<iframe|<style|\sstyle=|\son\w+="|javascript:/i, path)
      const links = [...page.matchAll(/\s(?:href|src|action)="([^"]*)"/g)].map(([, link = '']) => link)
      t.ok(links.length > 5, caseName({ path, language }))
      t.strictSame(
        links.filter(link => !/^(?:\/(?!\/)|#)/.test(link)),
        [],
        path,
      )
      for (const link of new Set(links.filter(one => one.startsWith('#'))))
        t.ok(page.includes(`id="${link.slice(1)}"`), link)
    }
  const sheetOf = async (path: string) =>
    [...(await (await fetch(url + path)).text()).matchAll(/<link rel="stylesheet"[^>]* href="([^"]+)"/g)].map(
      ([, address = '']) => address,
    )
  const [address = '', ...others] = await sheetOf('/console')
  t.strictSame(others, [])
  for (const path of pages) t.strictSame(await sheetOf(path), [address], "they use the console's style")
  const sheet = await fetch(url + address)
  t.match(sheet.headers.get('content-type'), /^text\/css/)
  t.notMatch(await sheet.text(), /url\(|@import|https?:/, 'nor does the style sheet')
})

t.test('the OpenAPI document', async t => {
  const { url, plan, key, folder } = await start(t, { simulated: true })
  const read = async (language: string) =>
    (await (await fetch(`${url}/openapi.json?lang=${language}`)).json()) as Document

  t.test('is valid, in both languages', async t => {
    for (const language of languages) {
      const { valid, errors } = await new Validator().validate(await read(language))
      t.ok(valid, JSON.stringify(errors)?.slice(0, 2000) ?? '')
    }
  })

  t.test('has every endpoint of the gateway and the console, each with a unique id', async t => {
    const { paths } = await read('en')
    for (const { method, path, upstreamPath } of plan.routes) {
      const described = paths[upstreamPath]?.[method.toLowerCase()]
      t.ok(described, upstreamPath)
      if (path !== upstreamPath) t.ok(described?.description?.includes(path), path)
    }
    for (const path of ['/api/session', '/api/keys', '/api/logs/{id}', '/api/pricing']) t.ok(paths[path], path)
    const ids = Object.values(paths).flatMap(methods => Object.values(methods).map(one => one.operationId))
    t.equal(new Set(ids).size, ids.length)
  })

  t.test('describes the fields of an edit as a form, its refusals, and which family drops what', async t => {
    const { paths } = await read('en')
    const edit = paths['/v1/images/edits']?.['post']
    const form = edit?.requestBody?.content['multipart/form-data']?.schema.properties ?? {}
    t.match(form, { image: { type: 'array' }, mask: { type: 'string' }, prompt: { type: 'string' } })
    for (const status of ['400', '401', '402', '409', '413', '415', '422', '429', '503'])
      t.ok(edit?.responses[status], status)
    const generate =
      paths['/v1/images/generations']?.['post']?.requestBody?.content['application/json']?.schema.properties
    t.match(generate?.['background']?.description, /Forwarded only for alpha-image/)
    t.equal(generate?.['prompt']?.description, 'Description of the image.')
  })

  t.test('describes every endpoint in Chinese on request', async t => {
    const { paths } = await read('zh')
    for (const [path, methods] of Object.entries(paths)) {
      for (const { summary } of Object.values(methods)) t.match(summary, /\p{Script=Han}/u, path)
    }
  })

  t.test('its Node samples run unchanged, with the real SDKs', async t => {
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
    const { paths } = await read('en')
    const samples = Object.entries(paths).flatMap(([path, methods]) =>
      Object.values(methods).flatMap(({ 'x-codeSamples': own = [] }) => own.map(sample => ({ path, ...sample }))),
    )
    t.ok(
      samples.every(({ source }) => source.includes(url)),
      'each has the address that it was asked at',
    )
    const scripts = samples.filter(({ label }) => label === 'Node')
    t.ok(scripts.length >= 6)
    for (const { path, source } of scripts) {
      if (path === '/v1/images/edits') await copyFile(join(folder, 'boat.png'), join(folder, 'lake.png'))
      const options = { cwd: folder, env: { ...process.env, API_KEY: key } }
      const { stdout } = await run(process.execPath, ['--input-type=module', '-e', source], options)
      if (!path.startsWith('/v1/images/')) t.not(stdout, '', path)
    }
    t.strictSame(await pictureIn(folder, 'edited.png'), true, 'the edited picture is a file')
  })

  t.test('its shell samples run unchanged, and binary output becomes a file', async t => {
    const { paths } = await read('en')
    const shop = t.testdir({})
    const env: NodeJS.ProcessEnv = { ...process.env, API_KEY: key }
    for (const [path, methods] of Object.entries(paths))
      for (const { 'x-codeSamples': own = [] } of Object.values(methods))
        for (const { label, source } of own.filter(one => one.label === 'curl')) {
          // No job exists to query.
          if (path === '/v1/jobs/{id}') continue
          if (path === '/v1/images/edits') await copyFile(join(shop, 'boat.png'), join(shop, 'lake.png'))
          env['REQUEST_ID'] ??= await chargedOnce(url, key)
          const { stdout } = await run('sh', ['-c', source], { cwd: shop, env, encoding: 'utf8' })
          t.notMatch(stdout, /"error":\s*\{|b64_json/, `${path} ${label}`)
        }
    for (const name of ['boat.png', 'edited.png']) t.equal(await pictureIn(shop, name), true, name)
    t.not((await readFile(join(shop, 'hello.mp3'))).length, 0)
    t.match(JSON.stringify(paths['/v1/charges/{id}']), String.raw`charges/$REQUEST_ID\"`)
  })
})

t.test('long pages are compressed for clients that accept it, with the same content', async t => {
  const started = await start(t, { simulated: true })
  const { url, post, settled } = started
  const admin = await enterAsAdmin(started)
  for (let n = 0; n < 12; n++)
    await (await post('/v1/images/generations', { model: 'beta-imagine-image', prompt: `${n}`, n: 2 })).arrayBuffer()
  await settled()
  const [, sheet = ''] = /href="([^"]+\.css)"/.exec(await (await fetch(`${url}/pricing`)).text()) ?? []
  const lists = ['/api/logs', '/api/models', '/api/config', '/api/pricing']
  for (const path of [...lists, '/pricing', '/docs', '/openapi.json', pages[1], sheet]) {
    const plain = await admin.get(path, { 'accept-encoding': 'gzip;q=0, identity' })
    const zipped = await admin.get(path, { 'accept-encoding': 'deflate, gzip' })
    t.equal(plain.headers.get('content-encoding'), null, path)
    t.equal(zipped.headers.get('content-encoding'), 'gzip', path)
    for (const one of [plain, zipped]) t.match(one.headers.get('vary'), 'accept-encoding', path)
    t.equal(zipped.text, plain.text, path)
    const [few, many] = [zipped, plain].map(one => Number(one.headers.get('content-length')))
    t.ok(few !== undefined && many !== undefined && few < many / 2, `${path}: ${few} of ${many} bytes`)
    t.equal(zipped.headers.get('etag'), plain.headers.get('etag'), path)
    if (path.startsWith('/api/') && path !== '/api/pricing')
      t.equal(zipped.headers.get('cache-control'), 'no-store', 'personal content is cached nowhere')
  }
  const packed = await fetch(url + sheet, { headers: { 'accept-encoding': 'gzip, br' } })
  t.equal(packed.headers.get('content-encoding'), 'br', 'files are as small as can be')
  t.match(await packed.text(), /@media/)
  const short = await admin.get('/api/session', { 'accept-encoding': 'gzip' })
  t.equal(short.headers.get('content-encoding'), null, 'not short content')

  const made = await admin.post('/api/keys', { name: 'n'.repeat(60) }, { 'accept-encoding': 'gzip' })
  t.equal(made.status, 201)
  t.equal(made.headers.get('content-encoding'), null, 'nor content with a secret')
  t.equal(made.headers.get('vary'), null)
})

t.test('the reference is rendered once per configuration, and again after a change', async t => {
  const { url, reload } = await start(t, { simulated: true })
  const read = async () => (await fetch(`${url}/docs`)).text()
  const first = await read()
  t.equal(await read(), first)
  const bare = await fetch(`${url}/docs`, { headers: { 'accept-encoding': 'identity' } })
  t.equal(bare.headers.get('content-encoding'), null)
  t.equal(await bare.text(), first, 'zipped or not')
  for (const path of ['/docs', '/pricing', '/openapi.json']) {
    const etag = (await fetch(url + path)).headers.get('etag') ?? ''
    t.not(etag, '', path)
    const again = await fetch(url + path, { headers: { 'if-none-match': `"other", ${etag}` } })
    t.equal(again.status, 304, path)
    t.equal(await again.text(), '', caseName({ path }))
    t.equal((await fetch(url + path, { headers: { 'if-none-match': '"other"' } })).status, 200, caseName({ path }))
    for (const known of ['*', etag.replace(/^W\//, '')])
      t.equal((await fetch(url + path, { headers: { 'if-none-match': known } })).status, 304, `${path} ${known}`)
  }
  t.notMatch(first, /sim-tomorrow/)
  t.match(await reload([{ 'models/sim-tomorrow': { family: 'chat', upstream: 'text', price: 'free' } }]), { ok: true })
  t.match(await read(), /sim-tomorrow/)
  t.match(await (await fetch(`${url}/pricing`)).text(), /sim-tomorrow[^]*?Free/)
})

t.test('the API reference has every endpoint, the notes of every family and the results of sizes', async t => {
  const { url, plan } = await start(t, { simulated: true })
  for (const language of languages) {
    const page = await (await fetch(`${url}/docs?lang=${language}`)).text()
    for (const { path, upstreamPath } of plan.routes)
      if (path === upstreamPath) t.ok(page.includes(`<span>${path}</span>`), path)
    for (const { notes } of plan.families.values()) for (const note of notes[language]) t.ok(page.includes(note), note)
    for (const size of ['1254x1254', '1672x941', '2816x1584']) t.ok(page.includes(size), size)
    t.ok(
      page.includes('Idempotency-Key') && page.includes('x-ratelimit-limit-requests') && page.includes('retry-after'),
      caseName({ language }),
    )
    t.ok(page.includes(`${url}/v1`), caseName({ language }))
  }
})
