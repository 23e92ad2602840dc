import type { Page } from 'playwright-core'
import t from 'tap'
import { browse, browserMissing, slowness } from '../harness/browser.ts'
import { enterAsAdmin, enterAsUser } from '../harness/visitor.ts'

const skip = browserMissing
t.setTimeout(110_000 * slowness)

/** From here on every click counts, including clicks by keyboard. */
const countClicks = `globalThis.clicks ??= (addEventListener('click', event => { globalThis.clicks += event.isTrusted ? 1 : 0 }, true), 0)`

t.test('nine weekly tasks take few clicks from the first page', { skip }, async t => {
  const browsing = await browse(t, {
    onDisk: true,
    edit: [
      ['server:\n', 'server:\n  console_edits: on\n'],
      ['currency: USD\n', 'currency: USD\norganization: Example & Sons\n'],
    ],
  })
  const { url, post, settled, gateway, faults } = browsing
  const admin = await enterAsAdmin(browsing)
  await enterAsUser(browsing, admin, 'ada')
  const made = await admin.post('/api/keys', { name: 'of ada', user: 'ada' })
  const ofAda = { authorization: `Bearer ${(made.body as { secret: string }).secret}` }
  const image = '/v1/images/generations'
  for (const [model, size, headers] of [
    ['beta-imagine-image', '3840x2160', ofAda],
    ['beta-imagine-image', '3840x2160', ofAda],
    ['alpha-image-2', '1024x1024', {}],
    ['no-such-model', '1024x1024', {}],
  ] as const)
    await (await post(image, { model, prompt: 'a boat', size }, headers)).arrayBuffer()
  await settled()
  await gateway.storage.flush()

  const page = await browsing.newPage({ as: admin, width: 1440 })
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  const way = (name: string) => page.getByRole('navigation').getByRole('link', { name, exact: true })
  const dialog = page.getByRole('dialog')
  const main = page.getByRole('main')

  const tasks: readonly (readonly [name: string, clicksMax: number, task: (page: Page) => Promise<unknown>])[] = [
    [
      'the top spender of the week, and why',
      2,
      async () => {
        await main.getByRole('link', { name: '7 days', exact: true }).click()
        await page.waitForURL(/range=7d/)
        await main.getByRole('table', { name: 'Costs by User' }).getByRole('link').first().click()
        await page.locator('.chip.used', { hasText: 'ada' }).waitFor()
        await main.getByRole('cell', { name: 'requested size 3840x2160 → 4K' }).first().waitFor()
      },
    ],
    [
      'why an image is 4K',
      1,
      async () => {
        await main.locator('tr', { hasText: '→ 4K' }).getByRole('link').first().click()
        await dialog.getByText('requested size 3840x2160 → 4K').first().waitFor()
        await dialog.getByText('gateway.yaml:').first().waitFor()
      },
    ],
    [
      'give back a charge',
      3,
      async () => {
        await main.locator('tr', { hasText: '→ 4K' }).getByRole('link').first().click()
        await dialog.getByRole('button', { name: 'Refund' }).click()
        await dialog.locator('[name=reason]').fill('a blurred image')
        await dialog.locator('form').getByRole('button', { name: 'Refund' }).click()
        await dialog.getByText('a blurred image').waitFor()
      },
    ],
    [
      'cap a user',
      3,
      async () => {
        await way('Budgets').click()
        await button('Set budget').click()
        await dialog.getByRole('combobox', { name: 'User' }).fill('ada')
        await dialog.locator('[name=budget]').fill('20')
        await dialog.getByRole('button', { name: 'Save' }).click()
        await main.getByRole('row', { name: /User ada.*20\.00/ }).waitFor()
      },
    ],
    [
      'a key for a colleague',
      3,
      async () => {
        await way('API keys').click()
        await button('Create API key').click()
        await dialog.locator('[name=name]').fill('for ada')
        await dialog.getByRole('combobox', { name: 'User' }).fill('ada')
        await dialog.locator('form').getByRole('button', { name: 'Create' }).click()
        await dialog.getByLabel('Secret', { exact: true }).waitFor()
      },
    ],
    [
      'failing requests of today',
      1,
      async () => {
        await main.getByRole('link', { name: 'Failed today' }).click()
        await main.getByRole('cell', { name: 'no-such-model' }).waitFor()
        t.equal(await main.getByRole('table', { name: 'Logs' }).locator('tbody tr').count(), 1, 'and no other')
      },
    ],
    [
      'compare two models, with unit prices',
      2,
      async () => {
        await main.getByRole('link', { name: 'Model', exact: true }).click()
        await main.getByRole('checkbox', { name: 'Compare alpha-image-2' }).click()
        await main.getByText(/ costs [\d.]+ × the price of .+ per image: [\d.]+ and [\d.]+ USD/).waitFor()
      },
    ],
    [
      "last month's statement",
      1,
      async () => {
        await way('Statements').click()
        await main.getByText('Example & Sons').waitFor()
        await button('Print').waitFor()
      },
    ],
    [
      'add a model with its price',
      6,
      async () => {
        await way('Config').click()
        await page.getByRole('tab', { name: 'Edit' }).click()
        await button('Add a model').click()
        await dialog.locator('[name=name]').fill('alpha-image-3')
        for (const tier of ['1K', '2K', '4K']) await dialog.locator(`[name="prices.${tier}"]`).fill('0.05')
        await dialog.getByRole('button', { name: 'Stage change' }).click()
        await button('Review').click()
        await button('Apply').click()
        await page.getByRole('heading', { name: 'Change written' }).waitFor()
        t.ok(gateway.plan.models.has('alpha-image-3'), 'and it is offered at once')
      },
    ],
  ]
  for (const [name, clicksMax, task] of tasks) {
    await page.goto(`${url}/console`)
    await page.locator('.bars svg').waitFor()
    await page.evaluate(countClicks)
    const began = performance.now()
    await task(page)
    const seconds = ((performance.now() - began) / 1000).toFixed(1)
    const clicks = await page.evaluate<number>('globalThis.clicks')
    t.comment(`${name}: ${clicks} clicks, ${seconds} s`)
    t.equal(clicks, clicksMax, name)
  }
  t.strictSame(faults, [])
})
