import type { Page } from 'playwright-core'
import t from 'tap'
import { browse, browserMissing, choose, slowness } from '../harness/browser.ts'
import { sideways } from '../harness/look-at.ts'
import { picture } from '../harness/pictures.ts'
import { enterAsAdmin } from '../harness/visitor.ts'

const skip = browserMissing
t.setTimeout(280_000 * slowness)

const playground = '/console/playground?op=image.generate&model=alpha-image-2'
const bills = (page: Page) => page.getByRole('region', { name: 'Bill' })

t.test('typed text remains, and a running request is found again with its bill', { skip }, async t => {
  const browsing = await browse(t, { simulated: false, upstreams: ['alpha', 'beta', 'text'] })
  const { url, upstream, faults, logs } = browsing
  const page = await browsing.newPage({ as: await enterAsAdmin(browsing) })
  const { promise: made, resolve: make } = Promise.withResolvers<void>()
  upstream.answer(async res => {
    await made
    const body = JSON.stringify({ created: 1, data: [picture(1254, 1254)] })
    res.writeHead(200, { 'content-type': 'application/json' }).end(body)
  })
  await page.goto(url + playground)
  await page.locator('[name=prompt]').fill('a boat at dawn')
  await page.locator('[name=size]').fill('1024x1024')
  await choose(page, 'Model', 'beta-imagine-image')
  await page.locator('.quote').waitFor()
  t.equal(await page.locator('[name=prompt]').inputValue(), 'a boat at dawn', 'another model')
  await page.getByRole('tab', { name: 'Chat', exact: true }).click()
  await page.locator('[name=message]').fill('hello')
  await page.getByRole('tab').first().click()
  t.equal(await page.locator('[name=size]').inputValue(), '1024x1024', 'another tab')
  await choose(page, 'Model', 'alpha-image-2')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByRole('timer').waitFor()
  await page.getByRole('link', { name: 'Models' }).click()
  await page.getByRole('heading', { name: 'Models' }).waitFor()
  await page.getByRole('link', { name: 'Playground' }).click()
  await page.getByRole('timer').waitFor()
  t.equal(await page.getByRole('combobox', { name: 'Model' }).inputValue(), 'alpha-image-2', 'its model')
  await page.getByRole('tab', { name: 'Chat', exact: true }).click()
  await page.getByRole('link', { name: 'Models' }).click()
  await page.getByRole('heading', { name: 'Models' }).waitFor()
  await page.getByRole('link', { name: 'Playground' }).click()
  t.equal(await page.locator('[name=message]').inputValue(), 'hello', 'the tab that was looked at')
  await page.getByRole('tab').first().click()
  t.equal(await page.locator('[name=prompt]').inputValue(), 'a boat at dawn', 'another page')
  make()
  await bills(page).waitFor()
  t.equal(await page.locator('.pictures img').count(), 1)
  t.equal((await logs()).length, 1, 'its bill was no request')
  await page.getByRole('button', { name: 'Send again' }).click()
  await page.getByRole('timer').waitFor({ state: 'detached' })
  await bills(page).waitFor()
  t.equal((await logs()).length, 2, 'it can be sent again')
  t.strictSame(faults, [])
})

t.test('stopping shows the possible cost in advance and the real cost afterwards', { skip }, async t => {
  const browsing = await browse(t, { simulated: false, upstreams: ['alpha'] })
  const { url, upstream, faults, charges } = browsing
  const page = await browsing.newPage({ as: await enterAsAdmin(browsing), width: 360 })
  const { promise: made, resolve: make } = Promise.withResolvers<void>()
  upstream.answer(async res => {
    await made
    const body = JSON.stringify({ created: 1, data: [picture(1254, 1254)] })
    res.writeHead(200, { 'content-type': 'application/json' }).end(body)
  })
  await page.goto(url + playground)
  await page.locator('[name=prompt]').fill('a boat')
  const quote = (await page.locator('.quote').textContent()) ?? ''
  const atMost = /at most\s*(\d+\.\d+)/i.exec(quote)?.[1] ?? 'nothing'
  await page.getByRole('button', { name: 'Send' }).click()
  while (upstream.received.length === 0) await page.getByRole('timer').waitFor()
  await page.getByRole('button', { name: 'Stop', exact: true }).click()
  await page.getByText('Stopping does not refund anything').waitFor()
  t.match(await page.getByRole('alert').textContent(), atMost, `at most ${atMost}`)
  await page.getByRole('button', { name: 'Keep waiting' }).click()
  await page.getByRole('button', { name: 'Stop', exact: true }).click()
  await page.getByRole('button', { name: 'Stop anyway' }).click()
  await page.getByText(/^Stopped after/).waitFor()
  make()
  await bills(page).waitFor()
  const [charge] = await charges()
  t.match(await bills(page).locator('.line-text').textContent(), charge?.text)
  t.equal(await sideways(page), undefined)
  t.strictSame(faults, [])
})

t.test('two models get the same request and are shown next to each other, each with its bill', { skip }, async t => {
  const browsing = await browse(t)
  const { url, faults } = browsing
  const page = await browsing.newPage({ as: await enterAsAdmin(browsing) })
  await page.goto(`${url}${playground}&vs=beta-imagine-image`)
  await page.locator('[name=prompt]').fill('a boat')
  await page.locator('.quote').nth(1).waitFor()
  await page.getByRole('button', { name: 'Send' }).click()
  await bills(page).nth(1).waitFor()
  for (const model of ['alpha-image-2', 'beta-imagine-image'])
    t.equal(
      await page
        .getByRole('region', { name: `Result ${model}` })
        .getByRole('region', { name: 'Bill' })
        .count(),
      1,
      model,
    )
  t.strictSame(faults, [])
})

t.test('a second click is ignored while the first one runs', { skip }, async t => {
  const browsing = await browse(t, { simulated: false, upstreams: ['alpha'] })
  const { url, upstream, faults, logs } = browsing
  const admin = await enterAsAdmin(browsing)
  const page = await browsing.newPage({ as: admin })
  upstream.answer({ created: 1, data: [picture(1254, 1254)] })
  const changes: string[] = []
  page.on('request', request => {
    if (/^(PATCH|DELETE)$/.test(request.method()))
      changes.push(`${request.method()} ${new URL(request.url()).pathname}`)
  })
  // Both clicks come before the page is drawn again, as on a slow machine.
  const clickTwice = (name: string | RegExp) =>
    page.getByRole('button', { name }).evaluate((button: { click(): void }) => {
      button.click()
      button.click()
    })
  await page.goto(url + playground)
  await page.locator('[name=prompt]').fill('a boat at dawn')
  await clickTwice('Send')
  await bills(page).waitFor()
  t.equal((await logs()).length, 1, 'sent once')
  await clickTwice('Send again')
  await page.getByRole('timer').waitFor({ state: 'detached' })
  await bills(page).waitFor()
  t.equal((await logs()).length, 2, 'sent again once')

  const { key } = (await admin.post('/api/keys', { name: 'mine' })).body as { key: { id: string } }
  await page.goto(`${url}/console/tokens/${key.id}`)
  await page.getByRole('button', { name: 'Disable' }).waitFor()
  await clickTwice('Disable')
  await page.getByRole('button', { name: 'Enable' }).waitFor()
  await admin.post('/api/invitations', { role: 'user', group: 'default' })
  await page.goto(`${url}/console/users?tab=invitations`)
  await page.getByRole('button', { name: 'Revoke' }).waitFor()
  await clickTwice('Revoke')
  await page.getByText('No open invitations').waitFor()
  t.strictSame(
    changes.map(one => one.split('/', 3).join('/')),
    ['PATCH /api/keys', 'DELETE /api/invitations'],
  )
  t.strictSame(faults, [])
})
