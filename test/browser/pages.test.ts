import t from 'tap'
import { browse, browserMissing, slowness } from '../harness/browser.ts'
import { emptyScenes, furnish, visit, written } from '../harness/furnish.ts'
import { lookAt, showAs, variants } from '../harness/look-at.ts'
import { englishOn } from '../harness/one-vocabulary.ts'
import { enterAsAdmin, enterAsUser } from '../harness/visitor.ts'

t.setTimeout(280_000 * slowness)

// Each page once, with the variants in turn; `npm run test:axe` checks all pages in all variants. The prices and the
// reference have tests of their own.
t.test(
  'every page is accessible, and nothing is cut or overlaps',
  {
    skip: browserMissing,
  },
  async t => {
    const browsing = await browse(t)
    const { url, faults } = browsing
    const admin = await enterAsAdmin(browsing)
    const insideOf = {
      en: await browsing.newPage({ language: 'en', as: admin }),
      zh: await browsing.newPage({ language: 'zh', as: admin }),
    }
    const outsideOf = { en: await browsing.newPage({ language: 'en' }), zh: await browsing.newPage({ language: 'zh' }) }
    let turn = 0
    const look = async (scenes: Awaited<ReturnType<typeof furnish>>) => {
      for (const scene of scenes) {
        const language = turn % 2 === 0 ? 'zh' : 'en'
        const variant = variants[Math.floor(turn / 2) % variants.length] ?? variants[0]
        turn++
        const page = (scene.inside ? insideOf : outsideOf)[language]
        if (variant) await showAs(page, variant)
        await visit(page, url, scene)
        t.strictSame(await lookAt(page), [], `${scene.name} ${language} ${variant?.theme} ${variant?.width}`)
        if (language === 'zh') t.strictSame(await englishOn(page, written), [], `${scene.name} has no English sentence`)
      }
    }
    await look(emptyScenes)
    const scenes = await furnish(browsing, admin)
    await look(scenes.filter(({ path }) => path.startsWith('/console')))
    t.strictSame(faults, [])
  },
)

t.test('the menu fits a small laptop, and all tabs fit a phone', { skip: browserMissing }, async t => {
  const browsing = await browse(t)
  const { url, faults } = browsing
  const admin = await enterAsAdmin(browsing)
  const maria = await enterAsUser(browsing, admin, 'maria.fernanda', 'admin')
  const page = await browsing.newPage({ as: maria, width: 1280, height: 800 })
  await page.goto(`${url}/console/playground`)
  await page.getByRole('tab', { name: 'Rerank' }).waitFor()
  const beyond = (selector: string) =>
    page.evaluate<string[]>(`[...document.querySelectorAll('${selector}')].flatMap(one => {
      const { right, bottom } = one.getBoundingClientRect()
      return right > document.documentElement.clientWidth || bottom > innerHeight ? [one.textContent] : []
    })`)
  t.strictSame(await beyond('#side a, #side button'), [], 'the last of them leads out')
  t.ok(
    await page.evaluate(
      '(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)(document.querySelector(".who .theirs"))',
    ),
    'and the name of the user is complete',
  )
  await page.setViewportSize({ width: 360, height: 740 })
  t.strictSame(await beyond('[role=tab]'), [])
  t.strictSame(faults, [])
})

t.test('long names, large counts and a refund fit every list', { skip: browserMissing }, async t => {
  const name = 'm'.repeat(60)
  const prices = '{ 1K: "0.000011", 2K: "0.000011", 4K: "0.000011" }'
  const browsing = await browse(t, {
    edit: [[/^models:$/m, `models:\n  ${name}-new: { family: alpha-image, upstream: alpha, prices: ${prices} }`]],
  })
  const { url, faults } = browsing
  const admin = await enterAsAdmin(browsing)
  const bound = { limits: { tpm: 1_000_000 } }
  await admin.ask('PUT', `/api/users/${name}`, { budget: '12345678.123456', keys_max: 5, key_bounds: bound })
  await admin.post(`/api/users/${name}/topups`, { amount: '100' })
  await admin.post('/api/admin-tokens', { name, role: 'viewer' })
  const made = await admin.post('/api/keys', { name: `${name}${name}`.slice(0, 100), user: name })
  const authorization = `Bearer ${(made.body as { secret: string }).secret}`
  const image = { model: `${name}-new`, prompt: 'a boat at dawn' }
  const answer = await browsing.post('/v1/images/generations', image, { authorization })
  await answer.arrayBuffer()
  await (await browsing.post('/v1/images/generations', { ...image, model: 'alpha-image-2' })).arrayBuffer()
  // With images and tokens, tables of costs have all their columns.
  for (const headers of [{ authorization }, {}]) {
    const messages = [{ role: 'user', content: 'Hello' }]
    await (await browsing.post('/v1/chat/completions', { model: 'sim-chat', messages }, headers)).arrayBuffer()
  }
  await browsing.settled()
  await admin.post(`/api/logs/${answer.headers.get('x-request-id')}/refund`, { reason: 'a test' })
  for (const language of ['en', 'zh'] as const) {
    const page = await browsing.newPage({ as: admin, language })
    const costs = ['', '?by=model', '/statements', `/statements?month=${new Date().toISOString().slice(0, 7)}`]
    const lists = ['/budgets', '/tokens', '/logs', '/models', '/users', '/users?tab=admin-tokens']
    for (const path of [...costs, ...lists]) {
      for (const width of [1280, 768, 390] as const) {
        await showAs(page, { width, theme: 'light' })
        await visit(page, url, { name: path, path: `/console${path}`, inside: true })
        t.strictSame(await lookAt(page), [], `/console${path} ${language} ${width}`)
        const ticks = await page.locator('.named input').all()
        for (const tick of ticks) t.ok(((await tick.boundingBox())?.width ?? 0) >= 12, `${language} ${width}: a tick`)
        if (path === '') t.equal(ticks.length, 2, `${language} ${width}: two users`)
      }
      if (path === '/users') await page.getByText(/≤ 1,000,000/).waitFor()
    }
  }
  t.strictSame(faults, [])
})

t.test('an e-mail address as a name takes at most two lines', { skip: browserMissing }, async t => {
  const browsing = await browse(t)
  const admin = await enterAsAdmin(browsing)
  const names = ['ann@example.com', 'firstname.lastname@company.example']
  for (const name of names) {
    await admin.ask('PUT', `/api/users/${name}`, { keys_max: 5 })
    const made = await admin.post('/api/keys', { name: 'notebook', user: name, budget: '1234.50' })
    const authorization = `Bearer ${(made.body as { secret: string }).secret}`
    await (
      await browsing.post('/v1/images/generations', { model: 'alpha-image-2', prompt: 'a' }, { authorization })
    ).text()
  }
  await browsing.settled()
  const page = await browsing.newPage({ as: admin, language: 'en' })
  await page.setViewportSize({ width: 1280, height: 900 })
  for (const path of ['/tokens', '?by=user']) {
    await page.goto(`${browsing.url}/console${path}`)
    for (const [i, name] of names.entries()) {
      const shown = page.getByRole('table').getByText(name, { exact: true })
      await shown.first().waitFor()
      for (const one of await shown.all()) {
        const lines = await one.evaluate(
          element => (element as unknown as { getClientRects(): { length: number } }).getClientRects().length,
        )
        t.ok(lines > 0 && lines <= i + 1, `${path}: ${name} takes ${lines} lines`)
      }
    }
  }
})

t.test('every page forbids content from other origins', async t => {
  const browsing = await browse(t)
  for (const path of ['/console', '/console/login', '/console/logs/req_1', '/console/icon.svg', '/pricing', '/docs']) {
    const answer = await fetch(browsing.url + path)
    t.equal(answer.status, 200, path)
    const policy = answer.headers.get('content-security-policy') ?? ''
    t.match(policy, /default-src '(?:self|none)'/, path)
    t.match(policy, /frame-ancestors 'none'/, path)
    t.notMatch(policy, /unsafe|\*|https?:/, path)
    t.equal(answer.headers.get('x-content-type-options'), 'nosniff', path)
  }
})
