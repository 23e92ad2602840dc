import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { browse, browserMissing, slowness } from '../harness/browser.ts'
import { lookAt, showAs, variants } from '../harness/look-at.ts'
import { startSignIns } from '../harness/sign-in.ts'
import { movableClock, passwordOfTests } from '../harness/visitor.ts'

t.setTimeout(240_000 * slowness)

const own = { roles: { staff: 'user' }, allow_sign_up: true, sign_out: 'issuer' }

/** Each variant of the page, checked for accessibility. */
async function lookAtAll(t: Test, page: Page, name: string): Promise<void> {
  await page.setViewportSize({ width: 360, height: 900 })
  t.strictSame(await lookAt(page), [], `${name} 360`)
  const folder = process.env['SCREENSHOTS']
  for (const variant of variants) {
    await showAs(page, variant)
    t.strictSame(await lookAt(page), [], `${name} ${variant.theme} ${variant.width}`)
    if (folder)
      await page.screenshot({ path: `${folder}/${name}-${variant.theme}-${variant.width}.png`, fullPage: true })
  }
}

t.test('people sign in by an issuer or an invitation, or see why not', { skip: browserMissing }, async t => {
  const clock = movableClock()
  const browsing = await browse(t, { clock })
  const { url, newPage } = browsing
  const { issuer, admin } = await startSignIns(t, { started: browsing, own })
  issuer.people.set('1', { email: 'ann@example.com', email_verified: true, groups: ['staff'] })
  issuer.as = '1'

  await t.test('the button leads to the issuer and back to the wanted page', async t => {
    const page = await newPage()
    await page.goto(`${url}/console/models`)
    await page.getByRole('button', { name: 'Continue with Company account' }).waitFor()
    await lookAtAll(t, page, 'login')
    await page.getByRole('button', { name: 'Continue with Company account' }).click()
    await page.waitForURL(`${url}/console/models`)
    await page.getByRole('heading', { name: 'Models' }).waitFor()
    await page.goto(`${url}/console/account`)
    await page.getByText(issuer.url).waitFor()
    await lookAtAll(t, page, 'account')
    await page.setViewportSize({ width: 1280, height: 900 })
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Yes, sign me out' }).click()
    await page.waitForURL(`${url}/console`)
    await page.getByRole('button', { name: 'Continue with Company account' }).waitFor()
    await page.context().close()
  })

  await t.test("a refused sign-in is explained in the user's language, and the address is cleaned", async t => {
    issuer.people.set('1', { groups: [] })
    const page = await newPage({ language: 'zh' })
    await page.goto(`${url}/console/login`)
    await page.getByRole('button', { name: '使用 Company account 登录' }).click()
    await page.getByText('你的账号不在可以使用此控制台的分组中').waitFor()
    t.equal(page.url(), `${url}/console/sign-in/company`)
    await lookAtAll(t, page, 'refused')
    await page.getByRole('link', { name: '返回登录' }).click()
    await page.getByRole('button', { name: '使用 Company account 登录' }).waitFor()
    await page.goto(`${url}/console/sign-in/company?code=x&state=y`)
    await page.getByText('这次登录不是在此浏览器中发起的').waitFor()
    await page.context().close()
  })

  await t.test('an administrator invites, and the link creates the user', async t => {
    const page = await newPage({ as: admin })
    await page.goto(`${url}/console/users`)
    await page.getByRole('button', { name: 'Invite' }).click()
    await page.getByLabel('Role').selectOption('viewer')
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    const link = (await page.getByLabel('Invitation link').textContent()) ?? ''
    t.match(link, new RegExp(`^${url}/console/invite#[\\w-]{43}$`))
    await lookAtAll(t, page, 'invited')
    await page.getByRole('button', { name: 'Close' }).last().click()
    await page.getByRole('tab', { name: 'Invitations' }).click()
    await page.getByRole('button', { name: 'Revoke' }).waitFor()
    await lookAtAll(t, page, 'invitations')

    const guest = await newPage()
    await guest.goto(link)
    await guest.getByText('You are invited').waitFor()
    t.equal(guest.url(), `${url}/console/invite`, 'the token has left the address')
    await lookAtAll(t, guest, 'invite')
    await guest.getByLabel('Name').fill('vera')
    await guest.getByLabel('Password', { exact: true }).fill(passwordOfTests)
    await guest.getByLabel('Confirm password').fill(passwordOfTests)
    await guest.getByRole('button', { name: 'Create my account' }).click()
    await guest.waitForURL(`${url}/console`)
    const late = await newPage()
    await late.goto(link)
    await late.getByText('This invitation is no longer valid').waitFor()
    await page.reload()
    await page.getByText('No open invitations').waitFor()
  })
  t.strictSame(
    browsing.faults.filter(fault => !fault.includes(issuer.url) && !/40[0139]/.test(fault)),
    [],
  )

  await t.test('a user who links an account later enters the password', async t => {
    issuer.people.set('7', { email: 'boss@example.com', email_verified: true, groups: ['staff'] })
    issuer.as = '7'
    const page = await newPage({ as: admin })
    clock.forward(11 * 60_000)
    await page.goto(`${url}/console/account`)
    const link = page.getByRole('button', { name: 'Continue with Company account' })
    await link.click()
    const password = page.getByLabel('Your password')
    await password.fill('a wrong password')
    await link.click()
    await page.getByRole('alert').waitFor()
    // Each wrong password delays the next one.
    clock.forward(10_000)
    await password.fill(passwordOfTests)
    await link.click()
    await page.waitForURL(`${url}/console/account`)
    await page.getByText(issuer.url).waitFor()
    t.pass('linked')
    await page.context().close()
  })
})
