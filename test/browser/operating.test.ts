import t from 'tap'
import { createKey } from '../../src/index.ts'
import { browse, browserMissing, choose, slowness } from '../harness/browser.ts'
import { lookAt, sideways } from '../harness/look-at.ts'
import { enterAsAdmin, enterAsUser, newVisitor } from '../harness/visitor.ts'
import { openTalk } from '../harness/web-socket.ts'

const skip = browserMissing
t.setTimeout(280_000 * slowness)

t.test('shows alerts, the system state and refused sign-ins in both languages', { skip }, async t => {
  const browsing = await browse(t, { simulated: false, upstreams: ['text'] })
  const { url, upstream, faults, post, settled, gateway, reload } = browsing
  const admin = await enterAsAdmin(browsing)
  await enterAsUser(browsing, admin, 'ann')
  await newVisitor(url).post('/api/session', { name: 'ann', password: 'not the password' })
  upstream.answer({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 1 } })
  const chat = { model: 'sim-chat', max_tokens: 10, messages: [{ role: 'user', content: 'hello' }] }
  await (await post('/v1/chat/completions', chat)).text()
  await settled()
  await reload([['2K: "0.04"', '2K: "0.05"']])
  const { events } = gateway.storage
  // This key's budget is below the cost of a request: a refusal reports the budget.
  const poor = await createKey(gateway.storage, { name: 'poor', user: 'ann', budget: 1 })
  t.equal((await post('/v1/chat/completions', chat, { authorization: `Bearer ${poor.secret}` })).status, 402)
  await events.add({ kind: 'config.refused', data: { findings: ['gateway.yaml:1:1 nothing is right'], count: 1 } })

  for (const [language, theme, words] of [
    [
      'en',
      'light',
      {
        budget: 'Request refused: over budget',
        other: '1 open',
        traffic: 'Last five minutes',
        refused: 'Refused sign-ins',
        history: 'History',
        taken: 'Show configuration 2',
        cost: 'No charges in this period.',
        ceilings: 'Budget & limits',
        restore: 'Restore this version',
        erase: 'Erase',
        another: 'The name does not match.',
      },
    ],
    [
      'zh',
      'dark',
      {
        budget: '请求被拒绝：超出预算',
        other: '1 项未处理',
        traffic: '最近五分钟',
        refused: '被拒绝的登录',
        history: '历史',
        taken: '查看配置 2',
        cost: '这段时间没有费用。',
        ceilings: '预算与限额',
        erase: '删除',
        restore: '恢复此版本',
        another: '名称不一致。',
      },
    ],
  ] as const) {
    const page = await browsing.newPage({ as: admin, language, width: 360, theme })
    const look = async (name: string) => {
      t.strictSame(await lookAt(page), [], `${language} ${name}: axe`)
      t.equal(await sideways(page), undefined, `${language} ${name}`)
    }
    await page.goto(`${url}/console/alerts`)
    await page.getByText(words.budget, { exact: true }).waitFor()
    await page.getByText('nothing is right').waitFor()
    if (language === 'en') {
      const card = page.locator('li.card').filter({ hasText: words.budget })
      await card.getByRole('button', { name: 'Mark resolved' }).click()
      await page.getByText('Marked resolved by root').waitFor()
    }
    await page.locator(`nav [aria-label="${words.other}"]`).waitFor({ state: 'attached' })
    await look('alerts')
    await page.goto(`${url}/console/system`)
    await page.getByRole('table', { name: words.traffic }).getByText('sim-chat').waitFor()
    await page.locator('code').filter({ hasText: gateway.plan.revision }).waitFor()
    await look('system')
    await page.goto(`${url}/console/audit`)
    await page.getByRole('table', { name: words.refused }).getByText('ann').waitFor()
    await page.locator('a[href="/console/users?edit=ann"]').first().waitFor()
    await look('audit')
    if (language === 'en') {
      await page.getByRole('button', { name: 'Action', exact: true }).click()
      await choose(page, 'Action', 'User created')
      await page.waitForURL(/action=user\.create/)
      await page.getByRole('button', { name: 'Target', exact: true }).click()
      await choose(page, 'Target', 'ann')
      await page.waitForURL(/subject=ann/)
      const trail = page.getByRole('table', { name: 'Audit log' })
      await trail.getByRole('row').nth(2).waitFor({ state: 'detached' })
      t.match(await trail.textContent(), /User created.*ann/, 'who created her, chosen by its words')
    }
    await page.goto(`${url}/console/config?tab=history`)
    await page.getByRole('table', { name: words.history }).getByText('→ 0.05 USD').waitFor()
    await look('history')
    await page.getByRole('link', { name: words.taken }).click()
    await page.locator('.diff ins').getByText('2K: "0.05"').waitFor()
    await page.getByText(words.cost).waitFor()
    await look('a configuration that took effect')
    await page.goto(`${url}/console/config?tab=history&taken=1`)
    await page.getByRole('button', { name: words.restore }).click()
    await page.waitForURL(/tab=edit&review=1/)
    await page.locator('.diff ins').getByText('2K: "0.04"').first().waitFor()
    await page.getByText('models.alpha-image-2.prices.2K', { exact: true }).waitFor()
    await look('a version under review')
    await page.goto(`${url}/console/users?edit=ann`)
    await page.getByRole('tab', { name: words.ceilings, exact: true }).click()
    await page.getByRole('dialog').locator('[name="keys_max"]').waitFor()
    await look('ceilings')
    await page.getByRole('tab', { name: words.erase, exact: true }).click()
    const typed = page.getByRole('dialog').locator('[name="typed"]')
    await typed.fill('anna')
    await page.getByRole('button', { name: words.erase, exact: true }).click()
    await page.getByText(words.another).waitFor()
    await look('erasing')
    if (language === 'en') continue
    await typed.fill('ann')
    await page.getByRole('button', { name: words.erase, exact: true }).click()
    await page.getByText('已删除').waitFor()
    t.equal(await gateway.storage.users.find('ann'), undefined, 'she is gone')
  }
  t.strictSame(faults, [])
})

t.test('one click leads from an upstream to its failures', { skip }, async t => {
  const browsing = await browse(t, { edit: [['${ALPHA_URL:-simulator:alpha}', 'http://127.0.0.1:9']] })
  const { url, post, settled, gateway, faults } = browsing
  const admin = await enterAsAdmin(browsing)
  const prompt = 'a boat'
  t.equal((await post('/v1/images/generations', { model: 'alpha-image-2', prompt })).status, 502)
  await post('/v1/images/generations', { model: 'unknown', prompt })
  await post('/v1/images/generations', { model: 'beta-imagine-image', prompt })
  await settled()
  await gateway.storage.flush()
  const page = await browsing.newPage({ as: admin })
  await page.goto(`${url}/console/system`)
  const row = page.getByRole('table', { name: 'Upstreams' }).getByRole('row', { name: 'alpha' })
  await row.getByRole('link', { name: 'Failed today' }).click()
  const found = page.getByRole('table', { name: 'Logs' }).locator('tbody tr')
  await found.getByText('alpha-image-2').waitFor()
  t.equal(await found.count(), 1)
  t.strictSame(faults, [])
})

t.test('keeps figures while the gateway does not answer, and shows since when they are stale', { skip }, async t => {
  const browsing = await browse(t, { simulated: false, upstreams: ['text'] })
  const admin = await enterAsAdmin(browsing)
  const page = await browsing.newPage({ as: admin })
  await page.goto(`${browsing.url}/console/system`)
  const disk = page.getByText('Free disk space')
  await disk.waitFor()
  await page.route('**/api/system', route => route.abort())
  await page.getByText('The gateway does not respond').waitFor()
  t.ok(await disk.isVisible(), 'the last figures are there')
  await page.unroute('**/api/system')
  await page.getByRole('button', { name: 'Refresh' }).click()
  await page.getByText('The gateway does not respond').waitFor({ state: 'detached' })
})

t.test('lists open sessions and ends one with a reason, in both languages', { skip }, async t => {
  const browsing = await browse(t)
  const { url, key, keyId, gateway, faults } = browsing
  const admin = await enterAsAdmin(browsing)
  const viewer = await enterAsUser(browsing, admin, 'vic', 'viewer')
  const cases = [
    [
      'en',
      'light',
      'Sessions & objects',
      { table: 'Sessions', end: 'End: ', confirm: 'End session', none: 'No open sessions' },
    ],
    ['zh', 'dark', '会话与存储对象', { table: '会话', end: '结束：', confirm: '结束会话', none: '没有打开的会话' }],
  ] as const
  for (const [language, theme, title, words] of cases) {
    const caller = await openTalk(t, `${url}/v1/responses`, key)
    const page = await browsing.newPage({ as: admin, language, theme, width: 360 })
    await page.goto(`${url}/console/sessions`)
    await page.getByRole('heading', { name: title }).waitFor()
    const table = page.getByRole('table', { name: words.table })
    await table.locator(`a[href="/console/tokens/${keyId}"]`).waitFor()
    t.strictSame(await lookAt(page), [], `${language}: the list`)
    t.equal(await sideways(page), undefined, `${language}: the list`)
    const [session] = await gateway.storage.liveSessions.list({ limit: 9 })
    const label = `${words.end}${session?.id}`
    const end = page.getByRole('button', { name: label })
    await end.press('Enter')
    const dialog = page.getByRole('dialog')
    await dialog.getByText(session?.id ?? 'no session').waitFor()
    t.strictSame(await lookAt(page), [], `${language}: the confirmation`)
    await page.keyboard.press('Escape')
    await page.locator('dialog').waitFor({ state: 'detached' })
    t.equal(caller.socket.readyState, caller.socket.OPEN, `${language}: nothing has ended`)
    await page.locator('button:focus').and(end).waitFor()
    t.pass(`${language}: the focus is back`)
    await end.press('Enter')
    await dialog.getByText(session?.id ?? 'no session').waitFor()
    // Like a browser after a second Escape: without a cancel event.
    await page.evaluate('document.querySelector("dialog").close()')
    // Found by its element: a closed dialog has no role any more, and its close event is still to come.
    await page.locator('dialog').waitFor({ state: 'detached' })
    await end.press('Enter')
    await dialog.locator('[name=reason]').fill('leaked key')
    await dialog.getByRole('button', { name: words.confirm }).click()
    t.equal((await caller.closed)[0], 1008, language)
    await page.getByText(words.none).waitFor()
    await page.goto(`${url}/console/audit?subject=${session?.id}`)
    await page.getByText('leaked key').waitFor()
  }
  const caller = await openTalk(t, `${url}/v1/responses`, key)
  const page = await browsing.newPage({ as: viewer })
  await page.goto(`${url}/console/sessions?key=${keyId}`)
  await page.getByRole('table', { name: 'Sessions' }).getByText('local').waitFor()
  t.equal(await page.getByRole('button', { name: /^End/ }).count(), 0, 'a viewer ends nothing')
  await page.goto(`${url}/console/sessions?key=key_none`)
  await page.getByText('No open sessions').waitFor()
  caller.socket.close()
  await caller.closed
  t.strictSame(faults, [])
})

t.test('lists stored objects by kind and ends one with a reason, in both languages', { skip }, async t => {
  const browsing = await browse(t)
  const { url, openai, faults } = browsing
  const admin = await enterAsAdmin(browsing)
  await openai.conversations.create({})
  const cases = [
    [
      'en',
      'light',
      {
        kind: 'Kind',
        response: 'Response',
        table: 'Stored objects',
        end: 'End: ',
        confirm: 'End stored object',
        ended: 'Ended',
      },
    ],
    [
      'zh',
      'dark',
      { kind: '类型', response: '响应', table: '存储对象', end: '结束：', confirm: '结束存储对象', ended: '已结束' },
    ],
  ] as const
  for (const [language, theme, words] of cases) {
    const made = await openai.responses.create({ model: 'sim-chat', input: 'hi' })
    const page = await browsing.newPage({ as: admin, language, theme, width: 360 })
    await page.goto(`${url}/console/sessions?tab=objects`)
    const table = page.getByRole('table', { name: words.table })
    await table.getByText('conv_').waitFor()
    await page.getByRole('button', { name: words.kind, exact: true }).click()
    await page.getByRole('button', { name: words.response, exact: true }).click()
    await table.getByText('conv_').waitFor({ state: 'detached' })
    t.strictSame(await lookAt(page), [], `${language}: the list`)
    t.equal(await sideways(page), undefined, `${language}: the list`)
    await page.getByRole('button', { name: `${words.end}${made.id}` }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText(made.id).waitFor()
    t.strictSame(await lookAt(page), [], `${language}: the confirmation`)
    await dialog.locator('[name=reason]').fill('requested by its owner')
    await dialog.getByRole('button', { name: words.confirm }).click()
    await page.locator('dialog').waitFor({ state: 'detached' })
    await table.getByText(words.ended, { exact: true }).first().waitFor()
    t.equal(
      (await openai.responses.retrieve(made.id).catch((error: { status: number }) => error)).status,
      404,
      language,
    )
    await page.goto(`${url}/console/audit?subject=${made.id}`)
    await page.getByText('requested by its owner').waitFor()
  }
  t.strictSame(faults, [])
})
