import type { Browser, BrowserContext, Page } from 'playwright-core'
import tap, { type Test } from 'tap'
import { type Started, start, type StartOptions } from './start.ts'
import { enterAsAdmin, passwordOfTests, type Visitor } from './visitor.ts'
import { isFirefox, launchBrowser, leftOut } from './which-browser.ts'

export { browserMissing, isFirefox, leftOut, slowness } from './which-browser.ts'

export type Look = {
  readonly width?: number
  readonly height?: number
  readonly theme?: 'light' | 'dark'
  readonly language?: 'zh' | 'en'
  /** The visitor whose session the browser has; no session when absent. */
  readonly as?: Visitor
}

/** A gateway with its console, and a real browser. */
export type Browsing = Started & {
  readonly browser: Browser
  /** A new browser context without stored data, with no page loaded. */
  readonly newPage: (look?: Look) => Promise<Page>
  /**
   * Faults that a user cannot see: uncaught errors, violations of the page's policy, requests to other origins.
   * It is empty at the end of a good test.
   */
  readonly faults: string[]
}

let launched: Promise<Browser> | undefined

/** A browser without pages: the file's tests, one after the other, share its processes and nothing that pages keep. */
async function openBrowser(t: Test): Promise<Browser> {
  if (launched === undefined) {
    launched = launchBrowser()
    tap.teardown(async () => {
      const ended = launched
      launched = undefined
      await (await ended)?.close()
    })
  }
  const browser = await launched
  t.teardown(async () => {
    if (!t.passing()) await reportPages(t, browser)
    await Promise.all(browser.contexts().map(context => context.close()))
  })
  return browser
}

/** Prints what each page showed when its test failed. */
async function reportPages(t: Test, browser: Browser): Promise<void> {
  const seen = `({ focus: document.activeElement?.outerHTML.slice(0, 200), text: document.body.innerText.slice(0, 1000) })`
  for (const page of browser.contexts().flatMap(context => context.pages())) {
    const shown = await page.evaluate(seen).catch((error: unknown) => String(error))
    t.comment(page.url(), shown)
  }
}

/** Starts a gateway with simulated upstreams, and a browser; both close with the test. */
export async function browse(t: Test, options: StartOptions = {}): Promise<Browsing> {
  const started = await start(t, { simulated: true, ...options })
  const browser = await openBrowser(t)
  const faults: string[] = []
  return {
    ...started,
    browser,
    faults,
    async newPage(look = {}) {
      const page = await (await newContext(browser, started.url, look)).newPage()
      watch(page, started.url, faults)
      // A page in the background shows no focus.
      if (isFirefox) await page.bringToFront()
      return page
    },
  }
}

/**
 * A page with scripts turned off. Firefox has no command for it over BiDi, which the test reports: there scripts are
 * not delivered, so that the content of `<noscript>` stays hidden.
 */
export async function openScriptless(t: Pick<Test, 'comment'>, browser: Browser, locale: string): Promise<Page> {
  const page = await browser.newPage({ javaScriptEnabled: false, locale })
  if (!isFirefox) return page
  t.comment(`scripts turned off: ${leftOut}; they are not delivered instead`)
  await page.route(/[.]js$/, route => route.abort())
  await page.bringToFront()
  return page
}

/** The same, with an administrator (`root`, the password of the tests) who is signed in. */
export async function browseAsAdmin(t: Test, options: StartOptions = {}): Promise<Browsing & { admin: Visitor }> {
  const browsing = await browse(t, options)
  return { ...browsing, admin: await enterAsAdmin(browsing) }
}

async function newContext(browser: Browser, url: string, look: Look): Promise<BrowserContext> {
  const { width = 1280, height = 900, theme = 'light', language = 'en', as } = look
  const context = await browser.newContext({
    viewport: { width, height },
    locale: language === 'zh' ? 'zh-CN' : 'en-GB',
    colorScheme: theme,
    reducedMotion: 'reduce',
  })
  if (isFirefox && theme === 'dark') await context.addInitScript(chosenDark)
  const [name, value] = as?.cookie.split('=', 2) ?? []
  if (name && value) await context.addCookies([{ name, value, url }])
  return context
}

/** Selects the dark theme as a user would, for browsers that do not support the request for a theme. */
const chosenDark = `try {
  if (!localStorage.getItem('tollgate.theme')) localStorage.setItem('tollgate.theme', 'dark')
} catch {
  // An empty page has no storage.
}`

/** Allows a page to write to the clipboard, and the test to read it. */
export async function openClipboard(page: Page, url: string): Promise<() => Promise<string>> {
  // Firefox has no permission for it: a preference lets pages read (`which-browser.ts`).
  if (!isFirefox) await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: url })
  return async () => String(await page.evaluate('navigator.clipboard.readText()'))
}

/**
 * Moves the focus to the next element. After the last element of a page, Firefox moves to its own buttons, where a test
 * cannot press anything: the page gets the focus back, as if the user had gone past those buttons.
 */
export async function pressTab(page: Page): Promise<void> {
  await page.keyboard.press('Tab')
  if (isFirefox) await page.evaluate('document.hasFocus() || focus()')
}

function watch(page: Page, url: string, faults: string[]): void {
  page.on('pageerror', error => faults.push(`uncaught: ${error.message}`))
  page.on('console', message => {
    const text = message.text()
    // A status of 400 or more is reported too, but it is a regular answer.
    if (message.type() === 'error' && !text.startsWith('Failed to load resource')) faults.push(`console: ${text}`)
  })
  page.on('request', request => {
    const address = request.url()
    if (!address.startsWith(url) && !/^(?:blob|data|about):/.test(address)) faults.push(`a request to ${address}`)
  })
}

/** Selects an option of a picker, as a user would. */
export async function choose(page: Page, label: string, value: string): Promise<void> {
  const field = page.getByRole('combobox', { name: label })
  await field.fill(value)
  await field.press('Enter')
}

/** Signs in through the form, as a user does. */
export async function logIn(page: Page, url: string, name = 'root', password = passwordOfTests): Promise<void> {
  await page.goto(`${url}/console/login`)
  await page.locator('[name=name]').fill(name)
  await page.locator('[name=password]').fill(password)
  await page.locator('form button[type=submit]').click()
  await page.locator('#side').waitFor({ state: 'attached' })
}
