import type { Page } from 'playwright-core'
import t from 'tap'
import { browse, browserMissing, pressTab, slowness } from '../harness/browser.ts'
import { offerToken, passwordOfTests } from '../harness/visitor.ts'

t.setTimeout(110_000 * slowness)

/** More than any page has of what can be reached. */
const pressesMax = 80

/** Presses Tab until what is meant has the focus, and says how that can be seen. */
async function tabTo(page: Page, selector: string): Promise<void> {
  for (let presses = 0; presses < pressesMax; presses++) {
    await pressTab(page)
    const here = `document.activeElement?.matches(${JSON.stringify(selector)})`
    if (!(await page.evaluate(here))) continue
    if (!(await page.evaluate(`getComputedStyle(document.activeElement).outlineStyle !== 'none'`)))
      throw new Error(`the focus on ${selector} cannot be seen`)
    return
  }
  throw new Error(`Tab does not lead to ${selector}`)
}

t.test('the keyboard alone is enough from setup to a key and back', { skip: browserMissing }, async t => {
  const browsing = await browse(t)
  const { url, faults } = browsing
  const page = await browsing.newPage()
  const { keyboard } = page
  await page.goto(`${url}/console/setup#${await offerToken(browsing)}`)
  await page.getByRole('heading', { name: 'Set up' }).waitFor()
  for (const name of ['password', 'again']) {
    await tabTo(page, `[name=${name}]`)
    await keyboard.type(passwordOfTests)
  }
  await keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Costs' }).waitFor()

  await tabTo(page, '.skip')
  t.ok(await page.locator('.skip').isVisible(), 'the link to the content is seen when it has the focus')
  await tabTo(page, 'a[href="/console/tokens"]')
  await keyboard.press('Enter')
  await page.getByRole('heading', { name: 'API keys' }).waitFor()
  // The focus comes after the page has been painted.
  await page.locator('main h1:focus', { hasText: 'API keys' }).waitFor()
  t.pass('a page begins at its heading')
  await tabTo(page, 'main button.primary')
  await keyboard.press('Enter')
  await page.locator('dialog').waitFor()
  await keyboard.press('Escape')
  await page.locator('dialog').waitFor({ state: 'detached' })
  await page.locator('main button.primary:focus').waitFor()
  t.pass('the focus is back where it was')

  await keyboard.press('Enter')
  await page.locator('dialog').waitFor()
  await tabTo(page, 'dialog [name=name]')
  await keyboard.type('by keyboard')
  await keyboard.press('Enter')
  await page.getByRole('button', { name: "I've saved it" }).waitFor()
  await keyboard.press('Escape')
  await page.getByRole('button', { name: "I've saved it" }).waitFor()
  t.pass('what is shown once is not closed by chance')
  await tabTo(page, 'dialog .button.primary')
  await keyboard.press('Enter')
  await page.locator('dialog').waitFor({ state: 'detached' })
  await page.locator('main button.primary:focus').waitFor()

  // The list is asked for again once the dialog is closed.
  await page.locator('main tbody a', { hasText: 'by keyboard' }).waitFor()
  await tabTo(page, 'main tbody a')
  await keyboard.press('Enter')
  await page.locator('dialog dl').waitFor()
  await tabTo(page, 'dialog button.danger')
  await keyboard.press('Escape')
  await page.locator('dialog').waitFor({ state: 'detached' })
  await page.locator('main tbody a:focus', { hasText: 'by keyboard' }).waitFor()
  t.pass('and after a drawer')
  t.strictSame(faults, [])
})

t.test('on a phone the menu is behind one button, and Escape closes it', { skip: browserMissing }, async t => {
  const browsing = await browse(t)
  const page = await browsing.newPage({ width: 390 })
  const { keyboard } = page
  await page.goto(`${browsing.url}/console/setup#${await offerToken(browsing)}`)
  for (const name of ['password', 'again']) await page.locator(`[name=${name}]`).fill(passwordOfTests)
  await keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Costs' }).waitFor()
  await tabTo(page, '[popovertarget=side]')
  await keyboard.press('Enter')
  await page.locator('#side').waitFor()
  await keyboard.press('Escape')
  await page.locator('#side').waitFor({ state: 'hidden' })
  await keyboard.press('Enter')
  await tabTo(page, '#side a[href="/console/logs"]')
  await keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Logs' }).waitFor()
  await page.locator('#side').waitFor({ state: 'hidden' })
})
