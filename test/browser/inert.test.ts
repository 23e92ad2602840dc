import type { Page } from 'playwright-core'
import t from 'tap'
import { browseAsAdmin, browserMissing, type Browsing, slowness } from '../harness/browser.ts'
import { enterAsUser, passwordOfTests } from '../harness/visitor.ts'
import { caseName } from '../harness/case-name.ts'

const skip = browserMissing
t.setTimeout(110_000 * slowness)

/** Any dialog window of the browser is a fault. */
function refuseDialogs(page: Page, { faults }: Browsing): void {
  page.on('dialog', dialog => {
    faults.push(`a dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
}

const script = '<script>alert(1)</script>'
const image = '"><img src=x onerror=alert(1)>'
const formula = '=HYPERLINK("javascript:alert(1)")'
const turned = 'safe\u202etxt.exe'

t.test('C client text is shown as text and never runs', { skip }, async t => {
  const browsing = await browseAsAdmin(t)
  const { url, post, settled, newKey, admin, faults } = browsing
  const page = await browsing.newPage({ as: admin })
  refuseDialogs(page, browsing)
  const headers = { 'user-agent': image, 'x-client-request-id': script, 'x-request-id': formula }
  for (const model of [script, image, formula, 'javascript:alert(1)', turned, '\u001b[31mred', '{{7*7}}'])
    await (await post('/v1/images/generations', { model, prompt: script, size: image }, headers)).arrayBuffer()
  const sized = await post('/v1/images/generations', {
    model: 'alpha-image-2',
    prompt: script,
    quality: image,
    user: script,
  })
  await sized.arrayBuffer()
  for (const name of [script, image]) await newKey({ name })
  await t.rejects(newKey({ name: turned }), { code: 'name_unprintable' }, 'a name that is not shown as it is written')
  await settled()

  await page.goto(`${url}/console/logs`)
  await page.locator('.sheet tbody tr').first().waitFor()
  const rows = await page.locator('.sheet tbody tr').count()
  t.ok(rows >= 8, `${rows} rows`)
  const links = await page.locator('.sheet tbody a').evaluateAll(all => all.map(one => one.getAttribute('href') ?? ''))
  for (const link of links) {
    t.match(link, /^\/console\//, caseName({ link }))
    await page.goto(url + link)
    await page.locator('dialog .facts, dialog dl').first().waitFor()
  }
  await page.goto(`${url}/console/logs/${sized.headers.get('x-request-id')}`)
  t.match(await page.locator('.line-text').textContent(), 'onerror', 'as it was written')
  await page.goto(`${url}/console/tokens`)
  await page.getByRole('link', { name: script }).click()
  await page.getByRole('heading', { name: script }).waitFor()
  const query = String(new URLSearchParams({ model: script, user: image, before: formula, id: turned }))
  for (const path of [
    '/console/logs',
    '/console/tokens',
    '/console/users',
    '/console/audit',
    '/console/playground',
    '/pricing',
  ])
    await page.goto(`${url}${path}?${query}`)
  await page.goto(`${url}/console/login?next=${encodeURIComponent('javascript:alert(1)')}`)
  await page.getByRole('heading', { name: 'Costs' }).waitFor()
  await page.goto(`${url}/console/login?next=${encodeURIComponent('//elsewhere.example/console')}`)
  await page.getByRole('heading', { name: 'Costs' }).waitFor()
  t.equal(new URL(page.url()).origin, url)
  t.equal(await page.locator('img[src=x], main script').count(), 0)
  t.strictSame(faults, [])
})

t.test('a user sees no administrator pages and nothing of other users', { skip }, async t => {
  const browsing = await browseAsAdmin(t)
  const { url, post, settled, admin, faults } = browsing
  const sent = await post('/v1/chat/completions', { model: 'sim-chat', messages: [{ role: 'user', content: 'x' }] })
  await sent.arrayBuffer()
  await settled()
  const page = await browsing.newPage({ as: await enterAsUser(browsing, admin, 'mei') })
  await page.goto(`${url}/console`)
  await page.getByText('Waiting for the first request').waitFor()
  const ways = await page.getByRole('navigation').getByRole('link').allTextContents()
  for (const name of ['Users & groups', 'Config', 'Audit log', 'Sessions & objects', 'System'])
    t.notOk(ways.includes(name), name)
  for (const path of ['users', 'config', 'audit', 'sessions', 'system']) {
    await page.goto(`${url}/console/${path}`)
    await page.getByRole('heading', { name: 'Page not found' }).waitFor()
  }
  await page.goto(`${url}/console/logs/${sent.headers.get('x-request-id')}`)
  await page.getByText('Not found, or not yours.').waitFor()
  await page.goto(`${url}/console/tokens/${browsing.keyId}`)
  await page.getByText('Not found, or not yours.').waitFor()
  t.strictSame(faults, [])
})

t.test('without a network, a session or a storage the page reports it and recovers', { skip }, async t => {
  const browsing = await browseAsAdmin(t)
  const { url, admin, gateway } = browsing
  const page = await browsing.newPage({ as: admin })
  const way = (name: string) => page.getByRole('navigation').getByRole('link', { name, exact: true }).click()
  await page.goto(`${url}/console/account`)
  await page.getByRole('heading', { name: 'Account' }).waitFor()

  await page.context().setOffline(true)
  await way('API keys')
  await page.getByText('Cannot reach the gateway').waitFor()
  await page.context().setOffline(false)
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.locator('.sheet tbody tr').first().waitFor()

  await page.route('**/api/models', route => route.fulfill({ json: {} }))
  await way('Models')
  await page.getByText('Something went wrong on this page').waitFor()
  await page.unroute('**/api/models')
  await way('API keys')
  await page.locator('.sheet tbody tr').first().waitFor()

  t.equal((await admin.ask('DELETE', '/api/session')).status, 204)
  await way('Models')
  await page.getByText('Your session has expired. Sign in to continue where you left off.').waitFor()
  await page.locator('[name=name]').fill('root')
  await page.locator('[name=password]').fill('not the password')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('Wrong name or password.').waitFor()
  await page.locator('[name=password]').fill(passwordOfTests)
  await page.getByText('Wrong name or password.').waitFor()
  // After a wrong password, the next attempt on this account waits a second.
  await t.resolves(
    (async () => {
      while ((await page.locator('[name=password]').count()) > 0) {
        await page
          .getByRole('button', { name: 'Sign in' })
          .click({ timeout: 2_000 })
          .catch(() => undefined)
        await page
          .locator('[name=password]')
          .waitFor({ state: 'detached', timeout: 1_000 })
          .catch(() => undefined)
      }
    })(),
    'back where they were',
  )
  t.equal(new URL(page.url()).pathname, '/console/models')
  await page.getByRole('heading', { name: 'Models' }).waitFor()

  await gateway.storage.close()
  await way('API keys')
  await page.getByText('The storage is unavailable').waitFor()
  await page.reload()
  await page.getByText('The storage is unavailable').waitFor()
})
