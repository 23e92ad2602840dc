import t from 'tap'
import { createKey } from '../../src/index.ts'
import { browse, browserMissing, slowness } from '../harness/browser.ts'
import { lookAt } from '../harness/look-at.ts'
import { enterAsAdmin, enterAsUser } from '../harness/visitor.ts'

const skip = browserMissing
t.setTimeout(120_000 * slowness)

t.test("an administrator's form binds changed fields, or all of them on request", { skip }, async t => {
  const browsing = await browse(t, { simulated: true })
  const { url, gateway, faults } = browsing
  const admin = await enterAsAdmin(browsing)
  const ann = await enterAsUser(browsing, admin, 'ann')
  // The time has seconds, which a time field does not show.
  const own = { name: 'own', budget: '10', limits: { rpm: 5 }, expires: '2098-01-01T00:00:30.000Z' }
  const { id } = ((await ann.post('/api/keys', own)).body as { key: { id: string } }).key
  const find = async () => (await admin.get(`/api/keys/${id}`)).body

  const page = await browsing.newPage({ as: admin })
  await page.goto(`${url}/console/tokens/${id}`)
  const drawer = page.getByRole('dialog')
  const edit = async (change: () => Promise<void>) => {
    await drawer.getByRole('button', { name: 'Edit', exact: true }).click()
    await change()
    await drawer.getByRole('button', { name: 'Save', exact: true }).click()
    await drawer.getByRole('button', { name: 'Edit', exact: true }).waitFor()
  }
  const box = drawer.getByLabel('The holder may not exceed any of these settings')
  await edit(async () => drawer.locator('[name="name"]').fill('renamed'))
  t.match(await find(), { ...own, budget: '10.00', name: 'renamed', bounds: {} }, 'a new name binds nothing')
  await edit(async () => {
    await drawer.locator('[name="budget"]').fill('9')
    t.strictSame(await lookAt(page), [], 'axe')
  })
  t.match(await find(), { bounds: { budget: { to: { amount: '9.00' }, by: 'root' }, expires: undefined } })
  const rows = (await gateway.storage.trail.list({ limit: 100 })).length
  await edit(async () => {})
  t.equal((await gateway.storage.trail.list({ limit: 100 })).length, rows, 'nothing changed, nothing sent')
  await edit(async () => box.check())
  t.match(await find(), {
    expires: own.expires,
    bounds: { budget: { by: 'root' }, limits: { to: { rpm: 5 }, by: 'root' }, expires: { to: own.expires } },
  })
  await drawer.getByText('set by root').first().waitFor()

  const hers = await createKey(gateway.storage, { name: 'root', user: 'root' })
  await page.goto(`${url}/console/tokens/${hers.key.id}`)
  await drawer.getByRole('button', { name: 'Edit', exact: true }).click()
  await drawer.locator('[name="name"]').waitFor()
  t.equal(await box.count(), 0, "a user's own values are no bounds")
  t.strictSame(faults, [])
})

t.test('a form has the first day of weeks and months, and none for other periods', { skip }, async t => {
  const browsing = await browse(t, { simulated: true })
  const { url, gateway, faults } = browsing
  const admin = await enterAsAdmin(browsing)
  const { key } = await createKey(gateway.storage, { name: 'weekly', user: 'root', budget: 1 })
  const page = await browsing.newPage({ as: admin })
  await page.goto(`${url}/console/tokens/${key.id}`)
  const drawer = page.getByRole('dialog')
  const [period, day] = [drawer.locator('[name=budget_period]'), drawer.getByLabel('Begins on')]
  const open = async () => drawer.getByRole('button', { name: 'Edit', exact: true }).click()
  const save = async () => {
    await drawer.getByRole('button', { name: 'Save', exact: true }).click()
    await drawer.getByRole('button', { name: 'Edit', exact: true }).waitFor()
  }
  await open()
  t.equal(await day.count(), 0, 'total')
  await period.selectOption('month')
  t.equal((await day.locator('option').allTextContents()).length, 28)
  await day.selectOption({ label: 'day 15' })
  await period.selectOption('week')
  t.strictSame([(await day.locator('option').allTextContents()).length, await day.inputValue()], [7, ''])
  await day.selectOption({ label: 'Friday' })
  t.strictSame(await lookAt(page), [], 'axe')
  await save()
  t.match((await admin.get(`/api/keys/${key.id}`)).body, { budget_period: 'week', budget_resets_on: 'friday' })
  await open()
  t.equal(await day.inputValue(), 'friday')
  await period.selectOption('30d')
  t.equal(await day.count(), 0, '30 days')
  await save()
  t.match((await admin.get(`/api/keys/${key.id}`)).body, { budget_period: '30d', budget_resets_on: null })
  t.strictSame(faults, [])
})

t.test("a user's form sends only what its administrator changed", { skip }, async t => {
  const browsing = await browse(t, { simulated: true })
  const { url, faults } = browsing
  const admin = await enterAsAdmin(browsing)
  await enterAsUser(browsing, admin, 'ann')
  const find = async () => (await admin.get('/api/users/ann')).body
  const page = await browsing.newPage({ as: admin })
  const dialog = page.getByRole('dialog')
  const open = async () => {
    await page.goto(`${url}/console/users?edit=ann`)
    await dialog.locator('[name=status]').waitFor()
  }
  const save = async () => {
    await dialog.getByRole('button', { name: 'Save', exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
  }

  await open()
  await admin.ask('PATCH', '/api/users/ann', { status: 'disabled', role: 'viewer' })
  await dialog.locator('[name=role]').selectOption('billing')
  await save()
  t.match(await find(), { role: 'billing', status: 'disabled' }, 'a user who was disabled meanwhile stays disabled')

  await open()
  await dialog.getByRole('tab', { name: 'Budget & limits' }).click()
  await dialog.locator('[name=keys_max]').fill('3')
  await admin.ask('PATCH', '/api/users/ann', { budget: '5', budget_period: 'day', key_bounds: { limits: { rpm: 2 } } })
  await save()
  t.match(await find(), {
    keys_max: 3,
    budget: '5.00',
    budget_period: 'day',
    key_bounds: { limits: { to: { rpm: 2 } } },
  })
  await open()
  await dialog.getByRole('tab', { name: 'Budget & limits' }).click()
  await dialog.locator('[name=own_budget]').fill('7')
  await admin.ask('PATCH', '/api/users/ann', { budget_period: 'week', budget_soft: true })
  await save()
  t.match(await find(), { budget: '7.00', budget_period: 'week', budget_soft: true }, 'one setting of a budget')
  const rows = (await browsing.gateway.storage.trail.list({ limit: 100 })).length
  await open()
  await save()
  t.equal((await browsing.gateway.storage.trail.list({ limit: 100 })).length, rows, 'nothing changed, nothing sent')
  t.strictSame(faults, [])
})

t.test('a date is typed in one go, and an incomplete one is refused', { skip }, async t => {
  const browsing = await browse(t, { simulated: true })
  const { url, gateway, faults } = browsing
  const page = await browsing.newPage({ as: await enterAsAdmin(browsing) })
  await page.goto(`${url}/console/tokens?new=1`)
  const dialog = page.getByRole('dialog')
  const expires = dialog.locator('[name=expires]')
  await dialog.locator('[name=name]').fill('for a while')
  await expires.focus()
  await page.keyboard.type('12122026')
  await dialog.locator('[type=submit]').click()
  await dialog.getByText('Enter the complete date and time').waitFor()
  t.equal((await gateway.storage.keys.list({ limit: 9 })).length, 1, 'no key that never expires')
  await dialog.locator('[name=name]').focus()
  await expires.focus()
  await page.keyboard.type('121220261830')
  t.equal(await expires.inputValue(), '2026-12-12T18:30')
  t.strictSame(faults, [])
})

t.test('the form of a budget keeps what another administrator changed meanwhile', { skip }, async t => {
  const browsing = await browse(t, { simulated: true })
  const { url, faults } = browsing
  const admin = await enterAsAdmin(browsing)
  const ann = await enterAsUser(browsing, admin, 'ann')
  const { id } = ((await ann.post('/api/keys', { name: 'hers', budget: '10' })).body as { key: { id: string } }).key
  const page = await browsing.newPage({ as: admin })
  await page.goto(`${url}/console/budgets?user=ann`)
  await page.getByRole('button', { name: 'Edit' }).click()
  await admin.ask('PATCH', `/api/keys/${id}`, { budget: '20' })
  await page.locator('dialog [name=budget_soft]').selectOption('true')
  await page.locator('dialog [type=submit]').click()
  await page.locator('dialog').waitFor({ state: 'detached' })
  t.match((await admin.get(`/api/keys/${id}`)).body, { budget: '20.00', budget_soft: true, budget_period: 'total' })
  t.strictSame(faults, [])
})

t.test(
  'a dialog keeps what was typed when text is selected beyond its edge, or the page is clicked',
  { skip },
  async t => {
    const browsing = await browse(t, { simulated: true })
    const { url, faults } = browsing
    const page = await browsing.newPage({ as: await enterAsAdmin(browsing) })
    await page.goto(`${url}/console/users?new=1`)
    const dialog = page.locator('dialog[open]')
    const name = dialog.locator('[name=name]')
    await name.waitFor()
    await page.mouse.click(5, 450)
    await dialog.waitFor({ state: 'detached' })

    await page.goto(`${url}/console/users?new=1`)
    const drag = async () => {
      const box = await name.boundingBox()
      await page.mouse.move((box?.x ?? 0) + 60, (box?.y ?? 0) + 10)
      await page.mouse.down()
      await page.mouse.move(5, (box?.y ?? 0) + 10, { steps: 5 })
      await page.mouse.up()
    }
    await name.waitFor()
    await drag()
    t.equal(await dialog.count(), 1, 'a selection that ends outside')
    await name.fill('ann')
    await page.mouse.click(5, 450)
    t.equal(await dialog.count(), 1, 'a click outside after a change')
    t.equal(await name.inputValue(), 'ann')
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    t.strictSame(faults, [])
  },
)

t.test('a late answer leaves the page and the dialog alone that the user has opened meanwhile', { skip }, async t => {
  const browsing = await browse(t, { simulated: true })
  const { url, faults } = browsing
  const page = await browsing.newPage({ as: await enterAsAdmin(browsing) })
  const dialog = page.locator('dialog[open]')
  for (const name of ['ann', 'ben']) {
    const { promise: late, resolve: answer } = Promise.withResolvers<void>()
    await page.route('**/api/users', async route => {
      if (route.request().method() === 'POST') await late
      await route.continue()
    })
    await page.goto(`${url}/console/users?new=1`)
    await dialog.locator('[name=name]').fill(name)
    await dialog.locator('[type=submit]').click()
    await page.keyboard.press('Escape')
    if (name === 'ann') await page.getByRole('button', { name: 'Invite' }).click()
    else await page.getByRole('link', { name: 'Models' }).click()
    const before = page.url()
    answer()
    await page.getByText('Saved').waitFor()
    t.equal(page.url(), before, name)
    await page.unroute('**/api/users')
  }
  t.strictSame(faults, [])
})

t.test('a new secret is shown even if its dialog was closed before it arrived', { skip }, async t => {
  const browsing = await browse(t, { simulated: true })
  const { url, keyId, faults } = browsing
  const page = await browsing.newPage({ as: await enterAsAdmin(browsing) })
  const dialog = page.locator('dialog[open]')
  await page.goto(`${url}/console/tokens/${keyId}`)
  await dialog.getByRole('button', { name: 'Rotate' }).click()
  const { promise: late, resolve: answer } = Promise.withResolvers<void>()
  await page.route('**/rotate', async route => {
    await late
    await route.continue()
  })
  await dialog.locator('[type=submit]').click()
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  answer()
  t.match(await dialog.locator('pre').first().textContent(), /^sk-/)
  await dialog.getByRole('button', { name: "I've saved it" }).click()
  await dialog.waitFor({ state: 'detached' })
  t.strictSame(faults, [])
})
