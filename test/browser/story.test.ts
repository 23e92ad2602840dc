import OpenAI from 'openai'
import type { Page } from 'playwright-core'
import t from 'tap'
import {
  browse,
  browseAsAdmin,
  browserMissing,
  isFirefox,
  leftOut,
  logIn,
  openClipboard,
  slowness,
} from '../harness/browser.ts'
import { until } from '../harness/edits.ts'
import { picture } from '../harness/pictures.ts'
import { lookAt, showAs, sideways, variants } from '../harness/look-at.ts'
import { badKey, chatAnswer, chatRequest, keyedEdit } from '../harness/vendor-keys.ts'
import { enterAsAdmin, offerToken, passwordOfTests } from '../harness/visitor.ts'
import { caseName } from '../harness/case-name.ts'

const skip = browserMissing
t.setTimeout(110_000 * slowness)

const go = (page: Page, name: string) => page.getByRole('navigation').getByRole('link', { name, exact: true }).click()

t.test('from the setup link to a bill with reasons, and the revocation of the key', { skip }, async t => {
  const browsing = await browse(t)
  const { url, faults, settled } = browsing
  const page = await browsing.newPage({ language: 'zh' })
  const readClipboard = await openClipboard(page, url)
  const token = await offerToken(browsing)
  await page.goto(`${url}/console/setup#${token}`)
  await page.locator('[name=name]').fill('root')
  await page.locator('[name=password]').fill(passwordOfTests)
  await page.locator('[name=again]').fill(passwordOfTests)
  await page.getByRole('button', { name: '创建管理员' }).click()
  await page.getByText('正在等待第一个请求').waitFor()
  await page.getByRole('button', { name: '退出登录' }).click()
  await page.getByRole('heading', { name: '登录' }).waitFor()
  await logIn(page, url)

  await page.getByRole('link', { name: '创建令牌' }).click()
  await page.locator('dialog [name=name]').fill('storefront')
  await page.getByRole('button', { name: '创建', exact: true }).click()
  await page.getByText('这是唯一一次显示').waitFor()
  await page.locator('dialog').getByRole('button', { name: '复制' }).first().click()
  await page.getByText('已复制').waitFor()
  const secret = await readClipboard()
  t.match(secret, /^sk-[\w-]{40,}$/, 'the copied text is the key')
  await page.getByRole('button', { name: '我已保存' }).click()

  await go(page, '费用')
  await page.getByText('正在等待第一个请求').waitFor()
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: secret, maxRetries: 0 })
  const draw = async (model: string, size: string, n: number): Promise<string> => {
    const { response } = await client.images.generate({ model, prompt: 'a boat', size, n }).withResponse()
    return response.headers.get('x-request-id') ?? ''
  }
  const first = await draw('alpha-image-2', '3840x2160', 2)
  await page.getByText('第一个请求已到达').waitFor()
  t.pass('the page of costs tells of it by itself')
  await page.getByRole('link', { name: '查看详情' }).click()
  await page.locator('.line-text').waitFor()
  t.match(page.url(), first, 'the details have an address of their own')

  await page.goto(`${url}/console/logs?live=1`)
  await page.getByText('实时：已连接').waitFor()
  const second = await draw('beta-imagine-image', '3840x2160', 1)
  const row = page.locator(`a[href*="${second}"]`)
  await row.waitFor()
  t.pass('the log shows it as it ends')
  await settled()
  await row.click()

  for (const id of [second, first]) {
    await page.goto(`${url}/console/logs/${id}`)
    const line = (await page.locator('.line-text').textContent()) ?? ''
    const answer = await fetch(`${url}/v1/charges/${id}`, { headers: { authorization: `Bearer ${secret}` } })
    const charge = (await answer.json()) as { text: string }
    t.equal(line, charge.text, 'the page and the API say the same')
    const labels = ['大小', '请求品质', '生成数量', '图片档位', '来源', '实际尺寸']
    t.strictSame(
      line.match(/大小|请求品质|生成数量|图片档位|来源|实际尺寸/g),
      labels,
      'the six labels, each once, in their order',
    )
    t.strictSame(await page.locator('.six dt span').allTextContents(), labels, caseName({ id }))
  }

  await page.goto(`${url}/console/tokens`)
  await page.getByRole('link', { name: 'storefront' }).click()
  await page.getByRole('button', { name: '吊销' }).click()
  await page.getByText('会立即得到 401').waitFor()
  await page.locator('dialog form').getByRole('button', { name: '吊销' }).click()
  await page.getByText('已吊销').first().waitFor()
  const refused = await draw('alpha-image-2', '1024x1024', 1).catch((error: unknown) => error as { status?: number })
  t.match(refused, { status: 401 }, 'the very next request')
  t.strictSame(faults, [], 'no request went to another origin, and the policy was not violated')
})

t.test('an administrator refunds and decides with a reason, which the audit keeps', { skip }, async t => {
  const browsing = await browse(t, { simulated: false, upstreams: ['alpha'] })
  const { url, upstream, post, settled, faults } = browsing
  const page = await browsing.newPage({ language: 'en' })
  const ask = async (): Promise<string> => {
    const answer = await post('/v1/images/generations', { model: 'alpha-image-2', prompt: 'a boat' })
    await answer.arrayBuffer()
    await settled()
    return answer.headers.get('x-request-id') ?? ''
  }
  upstream.answer({ created: 1, data: [picture(1254, 1254)] })
  const drawn = await ask()
  upstream.answer(res => void res.socket?.resetAndDestroy())
  const lost = await ask()

  const token = await offerToken(browsing)
  await page.goto(`${url}/console/setup#${token}`)
  for (const name of ['password', 'again']) await page.locator(`[name=${name}]`).fill(passwordOfTests)
  await page.locator('[type=submit]').click()
  await page.getByRole('heading', { name: 'Costs' }).waitFor()

  await page.goto(`${url}/console/logs/${drawn}`)
  await page.getByRole('button', { name: 'Refund' }).click()
  await page.locator('dialog form').getByRole('button', { name: 'Refund' }).click()
  await page.getByText('At least 3 characters').waitFor()
  t.equal(await page.evaluate('document.activeElement.name'), 'reason', 'the field that is wrong has the focus')
  await page.locator('[name=reason]').fill('<b>blurred</b>')
  await page.locator('[name=amount]').fill('0.05')
  await page.locator('dialog form').getByRole('button', { name: 'Refund' }).click()
  await page.getByText('Only 0.04 of this charge is left to refund').waitFor()
  await page.locator('[name=amount]').fill('0.01')
  await page.locator('dialog form').getByRole('button', { name: 'Refund' }).click()
  await page.locator('dialog').getByRole('heading', { name: 'Refunded' }).waitFor()
  await page.getByRole('button', { name: 'Refund' }).click()
  await page.getByText('Up to 0.03 USD can be refunded').waitFor()
  await page.locator('[name=reason]').fill('all of it')
  await page.locator('dialog form').getByRole('button', { name: 'Refund' }).click()
  await page.locator('dialog').getByText('all of it').waitFor()
  await page.locator('dialog').getByText('<b>blurred</b>').waitFor()

  await page.goto(`${url}/console/system`)
  await page.getByText('Charges that need review: 1').waitFor()
  await page.goto(`${url}/console/logs/${lost}`)
  await page.getByRole('button', { name: 'Resolve' }).click()
  await page.locator('[name=as]').selectOption('void')
  await page.getByLabel('Amount').waitFor()
  await page.locator('[name=reason]').fill('nothing came back')
  await page.locator('dialog form [type=submit]').click()
  await page.locator('dialog').getByText('Voided', { exact: true }).waitFor()

  await page.goto(`${url}/console/audit`)
  await page.getByRole('cell', { name: 'nothing came back' }).waitFor()
  await page.getByRole('cell', { name: '<b>blurred</b>' }).waitFor()
  t.equal((await browsing.gateway.storage.books.verify()).problems.length, 0)
  t.strictSame(faults, [])
})

t.test(
  "an administrator sees why a vendor's key is not used, and probes, resumes and suspends it",
  { skip },
  async t => {
    const browsing = await browse(t, { simulated: false, upstreams: ['text'], edit: [keyedEdit()] })
    const { url, upstream, post, settled, faults } = browsing
    const admin = await enterAsAdmin(browsing)
    upstream.answer((res, { headers }) => {
      const isBad = String(headers.authorization).endsWith('-one')
      res.writeHead(isBad ? 401 : 200, { 'content-type': 'application/json' })
      res.end(JSON.stringify(isBad ? badKey[1] : chatAnswer))
    })
    const isRefused = () => upstream.received.some(({ headers }) => String(headers.authorization).endsWith('-one'))
    for (let i = 0; i < 60 && !isRefused(); i++) await (await post('/v1/chat/completions', chatRequest)).text()
    await settled()
    const page = await browsing.newPage({ language: 'en', as: admin })
    await page.goto(`${url}/console/system`)
    await page.getByText('Rejected by the vendor').waitFor()
    await page.getByText('401 invalid_api_key').waitFor()
    await page.getByRole('button', { name: 'Test: text/first' }).click()
    await page.getByText('Rejected by the upstream: 401 invalid_api_key. Test cost: 0.00 USD.').waitFor()
    await page.getByRole('button', { name: 'Resume: text/first' }).click()
    await page.getByRole('button', { name: 'Resume: text/first' }).waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Suspend: text/second' }).click()
    await page.locator('[name=reason]').fill('<b>over its bill</b>')
    await page.locator('[name=for_seconds]').selectOption('3600')
    await page.locator('dialog form [type=submit]').click()
    await page.getByText('Suspended manually').waitFor()
    await page.getByText('<b>over its bill</b>').waitFor()
    for (const language of ['en', 'zh'] as const) {
      const seen = await browsing.newPage({ language, as: admin })
      await seen.goto(`${url}/console/system`)
      await seen.getByText(language === 'en' ? 'Suspended manually' : '由人工暂停').waitFor()
      for (const variant of variants) {
        await showAs(seen, variant)
        t.strictSame(await lookAt(seen), [], caseName({ language, ...variant }))
      }
      await seen.setViewportSize({ width: 360, height: 800 })
      t.equal(await sideways(seen), undefined, language)
    }
    t.strictSame(faults, [])
  },
)

t.test('a refusal changes its language with the page', { skip }, async t => {
  const { url, newPage } = await browseAsAdmin(t)
  const page = await newPage({ language: 'en' })
  await page.goto(`${url}/console/login`)
  await page.locator('[name=name]').fill('root')
  await page.locator('[name=password]').fill('not the password')
  await page.keyboard.press('Enter')
  await page.getByRole('alert').getByText('Wrong name or password').waitFor()
  await page.getByRole('button', { name: '中文' }).click()
  await page.getByRole('alert').getByText('用户名或密码').waitFor()
})

t.test('language and theme are chosen once, and kept', { skip }, async t => {
  const browsing = await browse(t)
  const { url } = browsing
  const page = await browsing.newPage({ language: 'en', theme: 'light' })
  await page.goto(`${url}/console/login`)
  await page.getByRole('heading', { name: /Set up|Sign in/ }).waitFor()
  const ground = () => page.evaluate('getComputedStyle(document.documentElement).backgroundColor')
  const light = await ground()
  await page.getByRole('button', { name: '中文' }).click()
  await page.getByRole('button', { name: '外观：跟随系统' }).click()
  await page.getByRole('button', { name: '外观：浅色' }).click()
  await page.getByRole('button', { name: '外观：深色' }).waitFor()
  t.not(await ground(), light)
  const dark = await ground()
  await page.reload()
  await page.getByRole('button', { name: '外观：深色' }).waitFor()
  t.equal(await ground(), dark)
  t.equal(await page.evaluate('document.documentElement.lang'), 'zh-CN')
  // A chosen theme does not follow the system.
  if (isFirefox) t.comment(`the system's theme: ${leftOut}`)
  else {
    await page.emulateMedia({ colorScheme: 'light' })
    await until(async () => (await ground()) === dark)
  }
})
