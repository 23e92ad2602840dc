import { appendFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import t from 'tap'
import { completeClock } from '../../src/util/index.ts'
import { browse, browserMissing, slowness } from '../harness/browser.ts'
import { lookAt, sideways } from '../harness/look-at.ts'
import { enterAsAdmin, enterAsUser, passwordOfTests } from '../harness/visitor.ts'

const skip = browserMissing
t.setTimeout(170_000 * slowness)

/** Enters another price for a tier of alpha-image-2, and adds it to the pending edits. */
async function gather(page: Page, price: string, words: { readonly gather: string }): Promise<void> {
  await page.getByRole('link', { name: 'alpha-image-2' }).click()
  await page.locator('[name="models.alpha-image-2.prices.2K"]').fill(price)
  await page.getByRole('button', { name: words.gather }).click()
}

t.test('a price is changed in steps: collected, reviewed, costed, written and applied', { skip }, async t => {
  let ahead = 0
  const clock = completeClock({ now: () => Date.now() + ahead, tick: () => performance.now() })
  const edit = [['server:\n', 'server:\n  console_edits: on\n']] as const
  const browsing = await browse(t, { clock, onDisk: true, edit })
  const { url, folder, faults, post, settled } = browsing
  const now = new Date()
  ahead = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 15, 12) - Date.now()
  await (await post('/v1/images/generations', { model: 'alpha-image-2', prompt: 'a boat', n: 2 })).arrayBuffer()
  await settled()
  ahead = 0
  const admin = await enterAsAdmin(browsing)
  const file = join(folder, 'gateway.yaml')
  const original = await readFile(file, 'utf8')
  const words = { gather: 'Stage change' }
  const page = await browsing.newPage({ as: admin })
  await page.goto(`${url}/console/config`)
  await page.getByRole('tab', { name: 'Edit' }).click()
  await page.getByRole('button', { name: 'Add a model' }).click()
  await page.getByRole('dialog').locator('[name=name]').fill('alpha-image-3')
  for (const tier of ['1K', '4K']) await page.locator(`[name="prices.${tier}"]`).fill('0.05')
  await page.getByRole('button', { name: words.gather }).click()
  await page.locator('[name="prices.2K"][aria-invalid]').waitFor()
  t.match(
    await page.locator('.refusal').textContent(),
    /no price for tier 2K/,
    'the missing price is told at its field',
  )
  await page.getByRole('button', { name: 'Cancel' }).click()
  await gather(page, 'a lot', words)
  await page.getByText('Enter a number such as 0.05').waitFor()
  t.strictSame(await lookAt(page), [], 'a fault at its field: axe')
  await page.locator('[name="models.alpha-image-2.ends"]').fill('soon')
  await page.locator('[name="models.alpha-image-2.prices.2K"]').fill('0.05')
  await page.getByRole('button', { name: words.gather }).click()
  const wrong = page.locator('[name="models.alpha-image-2.ends"][aria-invalid]')
  await wrong.waitFor()
  t.match(await page.locator('.refusal').textContent(), /2026-12-01/, 'the finding of the check is at the field')
  await wrong.fill('')
  await page.getByRole('button', { name: words.gather }).click()
  await page.getByRole('region', { name: 'Staged changes' }).getByText('models.alpha-image-2.prices.2K').waitFor()
  t.strictSame(await lookAt(page), [], 'gathered: axe')

  await page.getByRole('button', { name: 'Review', exact: true }).click()
  const difference = page.getByRole('region', { name: 'Diff of gateway.yaml' })
  await difference.locator('ins').filter({ hasText: '2K: "0.05"' }).waitFor()
  await difference.locator('del').filter({ hasText: '2K: "0.04"' }).waitFor()
  const costs = page.getByRole('table', { name: 'By model' })
  await costs.getByText('0.08').waitFor()
  t.match(await costs.textContent(), /alpha-image-2.*0\.08.*0\.10.*\+0\.02/, 'two images of last month')
  t.strictSame(await lookAt(page), [], 'proposed: axe')

  await appendFile(file, '# meanwhile\n')
  await page.getByRole('button', { name: 'Apply', exact: true }).click()
  await page.getByText('was saved in the meantime').waitFor()
  t.equal(await readFile(file, 'utf8'), `${original}# meanwhile\n`, 'nothing was written over it')
  await difference.locator('ins').filter({ hasText: '2K: "0.05"' }).waitFor()

  // The sign-in is no longer recent.
  ahead = 660_000
  await page.getByRole('button', { name: 'Apply', exact: true }).click()
  await page.getByLabel('Your password').fill(passwordOfTests)
  await page.route('**/api/config/write', async route => {
    const response = await route.fetch()
    const outdated = [{ host: 'gateway-2', started: new Date(), revision: '0123456789ab' }]
    await route.fulfill({
      response,
      json: { ...(await response.json()), outdated, refusals: ['OTHER_KEY is not set'] },
    })
  })
  await page.getByRole('button', { name: 'Apply', exact: true }).click()
  const written = page.getByRole('status').filter({ hasText: 'Change written' })
  t.match(await written.textContent(), /refused the change.*gateway-2 \(0123456789ab\).*OTHER_KEY is not set/)
  t.strictSame(await lookAt(page), [], 'written: axe')
  t.match(await readFile(file, 'utf8'), /2K: "0\.05".*\n[^]*# meanwhile\n$/)
  await page.getByRole('button', { name: 'Back to models and groups' }).click()
  await page
    .getByRole('row', { name: /alpha-image-2/ })
    .getByText('0.05')
    .waitFor()
  await page
    .getByRole('row', { name: /sim-chat/ })
    .getByText('Output tokens 1.50 / 1M')
    .waitFor()
  await page.goto(`${url}/console/models`)
  await page
    .getByRole('row', { name: /alpha-image-2/ })
    .getByText('0.05')
    .waitFor()
  await page.getByText('Minutes 0.004 USD').waitFor()
  const chat = page.getByRole('row', { name: /sim-chat/ })
  t.notOk(await chat.getByText('Upload a file').isVisible(), 'the first operations leave the prices in view')
  await chat.getByText(/^\d+ more operations$/).click()
  await chat.getByText('Upload a file').waitFor()
  t.strictSame(faults, [])
})

t.test(
  'without write permission a change is a patch, also on a phone, and a pasted file is costed',
  { skip },
  async t => {
    const browsing = await browse(t, { onDisk: true })
    const { url, folder, faults } = browsing
    const admin = await enterAsAdmin(browsing)
    const viewer = await enterAsUser(browsing, admin, 'vic', 'viewer')
    t.equal((await viewer.get('/api/config/editable')).status, 403)
    const page = await browsing.newPage({ as: admin, language: 'zh', width: 360, theme: 'dark' })
    const look = async (name: string) => {
      t.strictSame(await lookAt(page), [], `${name}: axe`)
      t.equal(await sideways(page), undefined, name)
    }
    await page.goto(`${url}/console/config?tab=edit`)
    await page.getByText('未开启在控制台编辑').waitFor()
    await look('list')
    await page.getByRole('link', { name: 'alpha-image-2' }).click()
    await page.getByRole('dialog').locator('[name="models.alpha-image-2.prices.2K"]').waitFor()
    await look('form')
    await page.goBack()
    await gather(page, '0.05', { gather: '暂存更改' })
    await page.getByRole('link', { name: 'partner' }).click()
    await page.locator('[name="groups.partner.multiplier"]').fill('0.8')
    await page.getByRole('button', { name: '暂存更改' }).click()
    await page.getByRole('button', { name: '预览更改' }).click()
    await page.getByText('这段时间没有费用').waitFor()
    await page.getByText('未开启在控制台编辑').waitFor()
    t.equal(await page.getByRole('button', { name: '应用', exact: true }).count(), 0)
    await look('proposed')
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: '下载补丁' }).click(),
    ])
    t.equal(download.suggestedFilename(), 'tollgate.patch')
    const patch = await readFile(await download.path(), 'utf8')
    t.match(patch, /^--- a\/gateway\.yaml\n/)
    t.match(patch, /\n\+ {2}partner: .*multiplier: "0\.8"/)
    t.match(patch, /\n\+.*2K: "0\.05"/)

    const original = await readFile(join(folder, 'gateway.yaml'), 'utf8')
    await page.goto(`${url}/console/config?tab=check`)
    const chosen = { name: 'other.yaml', mimeType: 'text/yaml' }
    await page.locator('[name=file]').setInputFiles({ ...chosen, buffer: Buffer.from('version: 9\n') })
    await page.getByRole('button', { name: '检查', exact: true }).click()
    await page.getByText('配置有误').waitFor()
    await look('checked')
    await page.locator('[name=file]').setInputFiles({ ...chosen, buffer: Buffer.from(original) })
    await page.getByRole('button', { name: '检查', exact: true }).click()
    await page.getByText('这段时间没有费用').waitFor()
    await look('reckoned')
    t.strictSame(faults, [])
  },
)
