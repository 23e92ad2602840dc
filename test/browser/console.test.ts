import { readdir, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { browse, browserMissing, logIn, slowness } from '../harness/browser.ts'
import { readFirstScripts } from '../harness/first-scripts.ts'
import { offerToken, passwordOfTests } from '../harness/visitor.ts'

const skip = browserMissing
t.setTimeout(60_000 * slowness)
const root = resolve(import.meta.dirname, '../..')

t.test('sets up by the link, signs out and in, creates a key, sees it once and uses it', { skip }, async t => {
  const browsing = await browse(t)
  const { url, faults } = browsing
  const page = await browsing.newPage()
  const token = await offerToken(browsing)
  await page.goto(`${url}/console/setup#${token}`)
  await page.locator('[name=name]').fill('root')
  await page.locator('[name=password]').fill(passwordOfTests)
  await page.locator('[name=again]').fill(passwordOfTests)
  t.notMatch(page.url(), token, 'the token leaves the address')
  await page.getByRole('button', { name: 'Create administrator' }).click()
  await page.getByRole('heading', { name: 'Costs' }).waitFor()

  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await logIn(page, url)

  await page.getByRole('link', { name: 'API keys', exact: true }).click()
  await page.getByRole('button', { name: 'Create API key' }).click()
  await page.locator('dialog [name=name]').fill('<b>my key</b>')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  const secret = (await page.getByLabel('Secret', { exact: true }).textContent()) ?? ''
  t.match(secret, /^sk-[\w-]{40,}$/)
  await page.getByRole('button', { name: 'Test this API key' }).click()
  await page.getByText('The API key works').waitFor()
  await page.getByRole('button', { name: "I've saved it" }).click()
  await page.getByRole('link', { name: '<b>my key</b>' }).waitFor()
  t.notOk((await page.content()).includes(secret), 'the secret is gone from the page')

  const answered = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${secret}` } })
  t.equal(answered.status, 200)
  t.strictSame(faults, [])
})

t.test('the console works in a browser whose language has no formatter', { skip }, async t => {
  const browsing = await browse(t)
  // Chromium and WebKit report this language if LANG is C.
  for (const tag of ['en-US@posix', 'C']) {
    const page = await browsing.newPage()
    await page.addInitScript(
      `Object.defineProperty(Navigator.prototype, 'language', { get: () => '${tag}', configurable: true })`,
    )
    await page.goto(`${browsing.url}/console/login`)
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    t.equal(await page.evaluate('new Intl.NumberFormat(navigator.language).format(1)'), '1', tag)
  }
  t.same(browsing.faults, [])
})

t.test('a script that loads after the page is shown removes nothing', { skip }, async t => {
  const browsing = await browse(t)
  const page = await browsing.newPage()
  const late = Promise.withResolvers<void>()
  let questions = 0
  page.on('request', request => void (questions += Number(request.url().endsWith('/api/session'))))
  await page.route(/\/assets\/early-/, async route => {
    await late.promise
    await route.continue()
  })
  await page.goto(`${browsing.url}/console/login`, { waitUntil: 'commit' })
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  late.resolve()
  await page.waitForLoadState('load')
  t.equal(await page.getByRole('heading', { name: 'Sign in' }).count(), 1)
  t.equal(questions, 1, 'nor asks again')
  t.same(browsing.faults, [])
})

t.test('the first page loads at most 70 KB of gzipped scripts, and nothing from another origin', async t => {
  const folder = join(root, 'dist/console')
  const files = await readdir(folder, { recursive: true })
  const { named, all: first } = await readFirstScripts(folder)
  let bytes = 0
  for (const file of files.filter(file => /\.(?:js|html|css)$/.test(file))) {
    const content = await readFile(join(folder, file))
    if (first.includes(file)) bytes += gzipSync(content).length
    t.notMatch(content.toString(), /(?:src|href|url\()\s*=?\s*["']?https?:/, file)
  }
  t.comment(`${bytes} bytes`)
  t.ok(bytes > 20_000 && bytes <= 70_000, `${bytes} bytes`)
  t.strictSame(named.toSorted(), first.toSorted(), 'the page names them all: none is found only when another is there')
  t.notOk(
    first.some(file => /\/(?:chart|bars)-/.test(file)),
    'what draws is loaded when it is shown',
  )
})

t.test('every console text exists in both languages with the same placeholders', async t => {
  const read = async (language: string) =>
    JSON.parse(await readFile(join(root, `src/console/words/${language}.json`), 'utf8')) as { [word: string]: string }
  const [zh, en] = await Promise.all([read('zh'), read('en')])
  const places = (text = '') => text.match(/\{\w+\}/g)?.toSorted() ?? []
  t.strictSame(Object.keys(zh), Object.keys(en))
  for (const word of Object.keys(en)) t.strictSame(places(zh[word]), places(en[word]), word)
})
