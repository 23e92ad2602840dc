import t from 'tap'
import { browse, browserMissing, openClipboard, openScriptless, slowness } from '../harness/browser.ts'
import { lookEverywhere } from '../harness/look-everywhere.ts'

// Checks that the page has an article for every operation, in both languages, light and dark.
t.setTimeout(120_000 * slowness)

t.test('the API reference is accessible', { skip: browserMissing }, async t => {
  const { browser, url, newPage, faults } = await browse(t)
  await lookEverywhere(t, browser, `${url}/docs`)

  await t.test('samples are tabs in the language picked last, and can be copied', async t => {
    const page = await newPage({ language: 'zh' })
    const readClipboard = await openClipboard(page, url)
    await page.goto(`${url}/docs`)
    const edits = page.locator('article[aria-labelledby=post_v1_images_edits]')
    const generations = page.locator('article[aria-labelledby=post_v1_images_generations]')
    await edits.getByRole('tab', { name: 'curl' }).focus()
    await page.keyboard.press('ArrowRight')
    await edits.getByText('import base64').waitFor()
    t.equal(await generations.getByRole('tab', { selected: true }).textContent(), 'Python', 'everywhere')
    t.equal(await edits.locator('pre:visible').count(), 1)
    await page.reload()
    await generations.getByText('import base64').waitFor()
    t.equal(await generations.getByRole('tab', { selected: true }).textContent(), 'Python', 'and next time')
    await generations.getByRole('tab', { name: 'curl' }).click()
    await generations.getByRole('button', { name: '复制' }).locator('visible=true').click()
    await generations.getByText('已复制').waitFor()
    t.match(await readClipboard(), `curl ${url}/v1/images/generations`)
  })

  await t.test('without a script each sample opens by itself', async t => {
    const page = await openScriptless(t, browser, 'en')
    await page.goto(`${url}/docs`)
    const samples = page.locator('article[aria-labelledby=post_v1_images_edits] .samples')
    t.equal(await samples.getByRole('tab').count(), 0)
    await samples.locator('summary', { hasText: 'Python' }).click()
    await samples.getByText('import base64').waitFor()
  })
  t.strictSame(faults, [])
})
