import t from 'tap'
import { browse, browserMissing, openScriptless, slowness } from '../harness/browser.ts'
import { lookEverywhere } from '../harness/look-everywhere.ts'

t.setTimeout(60_000 * slowness)

const options = { skip: browserMissing }

t.test('the price page is accessible, with a calculator result', options, async t => {
  const { browser, url } = await browse(t)
  const calculation = 'model=beta-imagine-image&operation=image.generate&size=3840x2160&n=3'
  await lookEverywhere(t, browser, `${url}/pricing?${calculation}`)
})

t.test('the calculator works without a script, by keyboard alone', options, async t => {
  const { browser, url } = await browse(t)
  const page = await openScriptless(t, browser, 'zh-CN')
  const complaints: string[] = []
  page.on('console', message => complaints.push(message.text()))
  const origins: string[] = []
  page.on('request', request => origins.push(new URL(request.url()).origin))
  await page.goto(`${url}/pricing`)
  await page.locator('[name=model]').selectOption('beta-imagine-image')
  await page.locator('[name=size]').fill('3840x2160')
  await page.locator('[name=n]').press('ControlOrMeta+a')
  await page.keyboard.type('3')
  await page.keyboard.press('Enter')
  const result = page.getByRole('status')
  await result.waitFor()
  t.match(await result.textContent(), /3 × 0\.08 = 0\.24 USD[^]*图片档位 4K，由请求的大小决定[^]*改为请求 2048x1152/)
  t.equal(await page.locator('[name=size]').inputValue(), '3840x2160', 'the request is still shown')
  await page.getByRole('link', { name: 'English' }).click()
  await page.getByText('decided by the requested size').waitFor()
  t.match(await page.getByRole('status').textContent(), /0\.24 USD/, 'in the other language the answer is the same')
  t.strictSame(complaints, [])
  t.strictSame([...new Set(origins)], [url])
})
