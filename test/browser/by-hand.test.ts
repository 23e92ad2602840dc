import type { Page } from 'playwright-core'
import t from 'tap'
import { browseAsAdmin, browserMissing, pressTab, slowness } from '../harness/browser.ts'
import { lookAt } from '../harness/look-at.ts'
import { enterAsUser } from '../harness/visitor.ts'

const skip = browserMissing
t.setTimeout(280_000 * slowness)

/** More than the number of focusable elements on any page. */
const pressesMax = 60

/** Presses Tab until the element has the focus; returns the number of presses. */
async function tabTo(page: Page, selector: string): Promise<number> {
  for (let presses = 1; presses < pressesMax; presses++) {
    await pressTab(page)
    if (await page.evaluate(`document.activeElement?.matches(${JSON.stringify(selector)})`)) return presses
  }
  throw new Error(`Tab does not lead to ${selector}`)
}

async function type(page: Page, keys: readonly string[]): Promise<void> {
  for (const key of keys) await page.keyboard.press(key)
}

t.test('keyboard shortcuts open pages, filters and lists, and filters can be saved as views', { skip }, async t => {
  const browsing = await browseAsAdmin(t)
  const { url, admin, post, settled, faults } = browsing
  for (const model of ['alpha-image-2', 'beta-imagine-image', 'no-such-model'])
    await (await post('/v1/images/generations', { model, prompt: 'a boat', size: '3840x2160' })).arrayBuffer()
  await settled()
  const page = await browsing.newPage({ as: admin })
  const { keyboard } = page
  const heading = (name: string) => page.getByRole('heading', { name, exact: true }).waitFor()
  await page.goto(`${url}/console`)
  await page.locator('.bars svg').waitFor()

  await keyboard.press('?')
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
  t.strictSame(await lookAt(page), [], 'the list of shortcuts')
  await type(page, ['g', 'l', 'Escape'])
  await page.locator('dialog').waitFor({ state: 'detached' })
  await heading('Costs')

  await type(page, ['g', 'l'])
  await heading('Logs')
  await page.locator('#list tbody tr').nth(2).waitFor()
  await page.locator('main h1:focus').waitFor()
  t.equal(await tabTo(page, '.skip'), 1, 'directly after the heading')
  t.ok(await page.locator('main .skip').isVisible())
  await keyboard.press('Enter')
  t.equal(await tabTo(page, '#list tbody a'), 1, 'the first row is next')

  await keyboard.press('/')
  await page.locator('main search [type=search]:focus').waitFor()
  await keyboard.type('g l ? /')
  t.equal(await page.locator('main search [type=search]:focus').inputValue(), 'g l ? /', 'typed characters are text')
  await keyboard.press('ControlOrMeta+a')
  await keyboard.type('alpha-image-2')
  await keyboard.press('Enter')
  await page.waitForURL(/model=alpha-image-2/)
  await page.locator('#list tbody tr').nth(1).waitFor({ state: 'detached' })

  const views = page.getByRole('navigation', { name: 'Saved views' })
  await tabTo(page, 'nav.inline .button')
  await keyboard.press('Enter')
  await page.getByRole('dialog', { name: 'Save this view' }).waitFor()
  await tabTo(page, 'dialog [name=name]')
  await keyboard.press('Enter')
  await page.getByText('Use 1–40 characters').waitFor()
  await keyboard.type('Only alpha')
  t.strictSame(await lookAt(page), [], 'saving a view')
  await keyboard.press('Enter')
  await views.locator('[aria-current]', { hasText: 'Only alpha' }).waitFor()

  await type(page, ['g', 'c'])
  await heading('Costs')
  await type(page, ['g', 'l'])
  await heading('Logs')
  t.notMatch(page.url(), 'model=')
  await views.getByRole('link', { name: 'Only alpha' }).press('Enter')
  await page.waitForURL(/[?]model=alpha-image-2$/)
  await views.getByRole('button', { name: 'Edit this view' }).press('Enter')
  await page.locator('dialog [name=name]').fill('Alpha')
  await keyboard.press('Enter')
  await views.locator('[aria-current]').getByText('Alpha', { exact: true }).waitFor()
  t.equal(await views.getByRole('link').count(), 1)

  const other = await browsing.newPage({ as: await enterAsUser(browsing, admin, 'mei') })
  await other.goto(url)
  await other.evaluate(
    `localStorage.setItem('tollgate.views.root./console/logs', ${JSON.stringify(JSON.stringify([{ name: 'Alpha', query: '?model=x' }]))})`,
  )
  await other.goto(`${url}/console/logs?model=x`)
  await other.getByRole('button', { name: 'Save this view' }).waitFor()
  t.equal(await other.getByRole('link', { name: 'Alpha' }).count(), 0, "another's in the same browser")

  await page.bringToFront()
  await views.getByRole('button', { name: 'Edit this view' }).press('Enter')
  await page.getByRole('button', { name: 'Delete' }).press('Enter')
  await views.getByRole('button', { name: 'Save this view' }).waitFor()
  t.equal(await views.getByRole('link').count(), 0)

  await page.evaluate(
    `localStorage.setItem('tollgate.views.root./console/logs', ${JSON.stringify(JSON.stringify([{ name: 'Of before', query: '?model=x' }]))})`,
  )
  await page.reload()
  await views.getByRole('link', { name: 'Of before' }).waitFor()
  t.equal(await page.evaluate(`localStorage.getItem('tollgate.views.root./console/logs')`), null, 'taken over')
  const elsewhere = await browsing.newPage({ as: admin })
  await elsewhere.goto(`${url}/console/logs`)
  await elsewhere.getByRole('link', { name: 'Of before' }).waitFor()
  await page.bringToFront()

  await keyboard.press('ControlOrMeta+k')
  await page.getByRole('dialog', { name: 'Search' }).waitFor()
  await keyboard.type('budg')
  await page.getByRole('option', { name: 'Budgets Page' }).waitFor()
  t.strictSame(await lookAt(page), [], 'the search of everything')
  await type(page, ['ArrowDown', 'Enter'])
  await heading('Budgets')
  await keyboard.press('ControlOrMeta+k')
  await page.locator('dialog input:focus').waitFor()
  await keyboard.type('tes')
  await page.getByRole('option', { name: 'test API key' }).click()
  await page.getByRole('dialog', { name: 'test' }).waitFor()
  await keyboard.press('Escape')
  await page.locator('dialog').waitFor({ state: 'detached' })
  await keyboard.press('ControlOrMeta+k')
  await page.locator('dialog input:focus').waitFor()
  await keyboard.type('req_00000000000000000000')
  await keyboard.press('Enter')
  await page.waitForURL(/logs\/req_0{20}$/)
  await page.getByRole('dialog').getByRole('alert').or(page.locator('dialog .problem')).first().waitFor()
  await keyboard.press('Escape')
  await page.locator('dialog').waitFor({ state: 'detached' })

  await page.goto(`${url}/console/users`)
  const names = page.getByRole('table', { name: 'Users' }).locator('tbody th')
  await names.nth(2).waitFor()
  const before = await names.allTextContents()
  await page.getByRole('button', { name: 'Name' }).press('Enter')
  await page.getByRole('button', { name: 'Name' }).press('Enter')
  await page.locator('[aria-sort=descending]').waitFor()
  t.strictSame(await names.allTextContents(), before.toSorted().toReversed())
  await page.getByRole('searchbox', { name: 'Search users and groups' }).fill('me')
  await names.nth(1).waitFor({ state: 'detached' })
  t.strictSame(await names.allTextContents(), ['mei'])
  await page.locator('main h1').focus()

  await type(page, ['g', 'i'])
  await heading('Account')
  const shortcuts = page.getByRole('switch', { name: 'Use keyboard shortcuts' })
  await shortcuts.press('Space')
  await page.getByRole('switch', { name: 'Use keyboard shortcuts', checked: false }).waitFor()
  await page.locator('main h1').focus()
  await type(page, ['g', 'l', '?'])
  await page.reload()
  await heading('Account')
  await type(page, ['g', 'l', '?'])
  t.match(page.url(), /\/account$/, 'turned off, and after a reload too')
  t.equal(await page.locator('dialog').count(), 0)
  t.strictSame(faults, [])
})

t.test('loading content has a placeholder, and nothing moves when it arrives', { skip }, async t => {
  const browsing = await browseAsAdmin(t)
  const { url, admin, post, settled, faults } = browsing
  for (let n = 0; n < 3; n++)
    await (await post('/v1/images/generations', { model: 'alpha-image-2', prompt: 'a boat' })).arrayBuffer()
  await settled()
  const page = await browsing.newPage({ as: admin, language: 'zh' })
  for (const [path, held, whole] of [
    ['/console', '**/api/costs?*', '.bars svg'],
    ['/console/logs', '**/api/logs*', '#list tbody'],
  ] as const) {
    const gate = Promise.withResolvers<void>()
    await page.route(held, async route => {
      await gate.promise
      await route.continue()
    })
    await page.goto(url + path)
    await page.locator('main h1').waitFor()
    const outline = page.getByRole('status').getByText('正在加载')
    await outline.first().waitFor({ state: 'attached' })
    t.strictSame(await lookAt(page), [], `the outline of ${path}`)
    const above = page.locator(path === '/console' ? '.dates' : '#list')
    const before = await above.boundingBox()
    gate.resolve()
    await page.locator(whole).waitFor()
    await outline.first().waitFor({ state: 'detached' })
    const after = await above.boundingBox()
    t.ok(Math.abs((before?.y ?? 0) - (after?.y ?? 99)) <= 8, `${path}: ${before?.y} and ${after?.y}`)
    await page.unroute(held)
  }
  t.strictSame(faults, [])
})

t.test('on a narrow phone each row is a card with the names of its values', { skip }, async t => {
  const browsing = await browseAsAdmin(t)
  const { url, admin, post, settled, faults } = browsing
  await (
    await post('/v1/images/generations', { model: 'beta-imagine-image', prompt: 'a boat', size: '3840x2160' })
  ).text()
  await settled()
  const page = await browsing.newPage({ as: admin, width: 360 })
  for (const path of ['/console', '/console/tokens', '/console/users', '/console/audit', '/console/account']) {
    await page.goto(url + path)
    const cell = page.locator('main .sheet tbody td').first()
    await cell.waitFor()
    t.strictSame(await lookAt(page), [], path)
    t.not(await cell.getAttribute('data-label'), null, path)
    // Firefox returns the attribute's name, Chromium its value.
    const shown = await page.evaluate(
      `(at => ({
        label: getComputedStyle(at, '::before').content.replace('attr(data-label)', JSON.stringify(at.dataset.label)),
        shape: getComputedStyle(at).display,
      }))(document.querySelector('main .sheet tbody td'))`,
    )
    t.match(shown, { label: /^".+"$/, shape: 'grid' }, path)
  }
  t.strictSame(faults, [])
})
