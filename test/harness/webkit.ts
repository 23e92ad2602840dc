import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { globSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { standing } from './find-program.ts'
import { freePort } from './free-port.ts'

/** WebKitGTK's browser, controlled over W3C WebDriver: the commands that visiting pages needs. */
export type WebKit = {
  /** The version of the engine, as it reports it. */
  readonly version: string
  /** Resolves when the page has loaded. */
  readonly goTo: (address: string) => Promise<void>
  /** The result of an expression in the page, after awaiting it. @throws Error with the error thrown there */
  readonly evaluate: <T>(expression: string) => Promise<T>
  /** Resolves when an expression is true in the page. @throws Error after 20 seconds */
  readonly until: (expression: string) => Promise<void>
  /** Types as by hand. */
  readonly type: (selector: string, text: string) => Promise<void>
  readonly click: (selector: string) => Promise<void>
  /** The size of the page, in CSS pixels. */
  readonly resize: (width: number, height: number) => Promise<void>
  /** The visible part of the page, as PNG. */
  readonly screenshot: () => Promise<Buffer>
}

const untilMs = 20_000
const stepMs = 50
const element = 'element-6066-11e4-a52e-4f735466cecf'
const [driver] = standing('WebKitWebDriver')
const [screen] = standing('xvfb-run')
const browser = globSync('/usr/{lib,libexec}{/*,}/webkit2gtk-4.*/MiniBrowser')[0]

/** Why no WebKit is available. Playwright's build is in no registry; Debian's is the released WebKitGTK. */
export const webkitMissing: string | false =
  (driver === undefined || screen === undefined || browser === undefined) &&
  'no WebKit runs here: install webkit2gtk-driver and xvfb'

/** Starts a browser on a virtual screen of its own; both stop with the test. */
export async function openWebKit(t: Pick<Test, 'teardown'>): Promise<WebKit> {
  if (driver === undefined || screen === undefined) throw new Error(String(webkitMissing))
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-webkit-'))
  // The bar above the page is wider than a phone, unless its buttons are small.
  await mkdir(join(folder, 'gtk-3.0'))
  await writeFile(join(folder, 'gtk-3.0/gtk.css'), '* { min-width: 0; padding: 0; margin: 0; border-width: 0; }\n')
  const port = await freePort()
  const child = spawn(screen, ['-a', '-s', '-screen 0 1920x1400x24', driver, `--port=${port}`], {
    detached: true,
    stdio: 'ignore',
    env: { ...process.env, XDG_CONFIG_HOME: folder },
  })
  t.teardown(async () => {
    const gone = once(child, 'exit')
    // Its process group contains the screen, the driver and the browser.
    if (child.pid !== undefined && child.exitCode === null) {
      process.kill(-child.pid, 'SIGTERM')
      await gone
    }
    await rm(folder, { recursive: true, force: true })
  })
  const ask = async (method: string, path: string, body?: object): Promise<unknown> => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      ...(body && { body: JSON.stringify(body) }),
    })
    const { value } = (await answer.json()) as { readonly value: unknown }
    if (!answer.ok) throw new Error(`${method} ${path}: ${JSON.stringify(value).slice(0, 400)}`)
    return value
  }
  const wait = () => new Promise(resolve => setTimeout(resolve, stepMs))
  const end = performance.now() + untilMs
  for (;;) {
    const isThere = await ask('GET', '/status').then(
      () => true,
      () => false,
    )
    if (isThere) break
    if (performance.now() > end) throw new Error('WebKitWebDriver does not answer')
    await wait()
  }
  const options = { 'webkitgtk:browserOptions': { binary: browser, args: ['--automation'] } }
  const session = (await ask('POST', '/session', { capabilities: { alwaysMatch: options } })) as {
    readonly sessionId: string
    readonly capabilities: { readonly browserVersion: string }
  }
  const at = `/session/${session.sessionId}`
  const evaluate = async <T>(expression: string): Promise<T> => {
    const script = `const done = arguments[arguments.length - 1]
      Promise.resolve().then(() => (${expression})).then(is => done({ is }), error => done({ error: String(error) }))`
    const result = (await ask('POST', `${at}/execute/async`, { script, args: [] })) as { is?: T; error?: string }
    if (result.error !== undefined) throw new Error(result.error)
    return result.is as T
  }
  const find = async (selector: string): Promise<string> => {
    const found = await ask('POST', `${at}/element`, { using: 'css selector', value: selector })
    return (found as { readonly [element]: string })[element]
  }
  return {
    version: session.capabilities.browserVersion,
    evaluate,
    goTo: async address => void (await ask('POST', `${at}/url`, { url: address })),
    async until(expression) {
      const end = performance.now() + untilMs
      while (!(await evaluate<boolean>(`Boolean(${expression})`))) {
        if (performance.now() > end) throw new Error(`never came: ${expression}`)
        await wait()
      }
    },
    type: async (selector, text) => void (await ask('POST', `${at}/element/${await find(selector)}/value`, { text })),
    click: async selector => void (await ask('POST', `${at}/element/${await find(selector)}/click`, {})),
    resize: async (width, height) => void (await ask('POST', `${at}/window/rect`, { width, height })),
    screenshot: async () => Buffer.from(String(await ask('GET', `${at}/screenshot`)), 'base64'),
  }
}
