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
