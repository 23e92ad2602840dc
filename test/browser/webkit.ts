import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { caseName } from '../harness/case-name.ts'
import { emptyScenes, furnish, type Scene } from '../harness/furnish.ts'
import { start } from '../harness/start.ts'
import { enterAsAdmin, passwordOfTests, type Visitor } from '../harness/visitor.ts'
import { openWebKit, webkitMissing, type WebKit } from '../harness/webkit.ts'

// `npm run test:browsers -- webkit`: visits every page in WebKit, on a phone and a desktop, in both languages and
// themes: it loads, and nothing fails, is cut off or lies beyond an edge. Then performs common tasks with the
// driver's
// own clicks. `PICTURES=folder` keeps screenshots.

t.setTimeout(1_200_000)

const layoutFaults = await readFile(new URL('../harness/layout-faults.js', import.meta.url), 'utf8')
const looks = [
  { language: 'en', theme: 'light', width: 1280, height: 800 },
  { language: 'zh', theme: 'dark', width: 360, height: 740 },
  { language: 'zh', theme: 'light', width: 1280, height: 800 },
  { language: 'en', theme: 'dark', width: 360, height: 740 },
] as const
type Look = (typeof looks)[number]

/** Collects the page's faults from now on: uncaught errors and violations of its policy. */
const listen = `window.faults ?? (window.faults = [], ['error', 'unhandledrejection', 'securitypolicyviolation'].forEach(kind =>
  addEventListener(kind, event => faults.push(kind + ': ' + (event.message ?? event.reason ?? event.violatedDirective)), true)), 0)`

const pictures = process.env['PICTURES']

t.test('every page in WebKit', { skip: webkitMissing }, async t => {
  const started = await start(t, { simulated: true, file: 'gateway.yaml' })
  const { url } = started
  const admin = await enterAsAdmin(started)
  const webkit = await openWebKit(t)
  t.comment(`WebKit ${webkit.version}`)
  if (pictures !== undefined) await mkdir(pictures, { recursive: true })

  await signIn(webkit, url)
  t.pass('one signs in by the form')

  const walk = async (scenes: readonly Scene[]) => {
    for (const look of looks) {
      await wear(webkit, url, look)
      for (const scene of scenes) {
        if (scene.act) continue
        const name = caseName({ page: scene.name, ...look })
        t.strictSame(await see(webkit, url, scene, look), [], name)
      }
    }
  }
  await walk(emptyScenes)
  const scenes = await furnish(started, admin)
  await signOut(webkit, url)
  await walk(scenes.filter(({ inside }) => !inside))
  await signIn(webkit, url)
  await walk(scenes.filter(({ inside }) => inside))

  await wear(webkit, url, looks[0])
  await followMoney(t, webkit, admin)
  await send(t, webkit, url)
  await switchLooks(t, webkit, url)
})

async function signIn(webkit: WebKit, url: string): Promise<void> {
  await webkit.goTo(`${url}/console/login`)
  await webkit.until(`document.querySelector('[name=password]')`)
  await webkit.type('[name=name]', 'root')
  await webkit.type('[name=password]', passwordOfTests)
  await webkit.click('form [type=submit]')
  await webkit.until(`document.querySelector('#side')`)
}

async function signOut(webkit: WebKit, url: string): Promise<void> {
  await wear(webkit, url, looks[0])
  await webkit.click('#side .who > .button')
  await webkit.until(`document.querySelector('[name=password]')`)
}

/** From any page to the reason of a request's cost, in three clicks. */
async function followMoney(t: Test, webkit: WebKit, admin: Visitor): Promise<void> {
  const { records } = (await admin.get('/api/logs?model=alpha-image-2&charge=settled')).body as {
    records: readonly {
      readonly id: string
      readonly billing: { readonly text: string; readonly lines: readonly { readonly why: string }[] }
    }[]
  }
  const [record] = records
  if (!record) throw new Error('nothing was drawn')
  await webkit.click('#side a[href="/console"]')
  await webkit.until(`document.querySelector('.bars .bar:last-child rect:not(.reach)')`)
  await webkit.click('.bars .bar:last-child rect:not(.reach)')
  await webkit.until(
    `(query => query.get('from') && query.get('from') === query.get('to'))(new URLSearchParams(location.search))`,
  )
  t.pass('a bar is the way to its day')
  const row = `main table a[href*="${record.id}"]`
  await webkit.until(`!document.querySelector('[aria-busy=true]') && document.querySelector(${JSON.stringify(row)})`)
  await webkit.click(row)
  await webkit.until(`document.querySelector('dialog .line-text')`)
  t.equal(await webkit.evaluate(`document.querySelector('dialog .line-text').textContent.trim()`), record.billing.text)
  const shownText = await webkit.evaluate<string>(`document.querySelector('dialog').textContent`)
  for (const { why } of record.billing.lines) t.ok(shownText.includes(why), why)
  t.match(await webkit.evaluate('location.pathname'), record.id, 'and the request has an address of its own')
}

/** Sends requests from the playground: for a picture, and for a message. */
async function send(t: Test, webkit: WebKit, url: string): Promise<void> {
  await webkit.goTo(`${url}/console/playground?op=image.generate&model=alpha-image-2`)
  await webkit.until(`document.querySelector('.quote')`)
  await webkit.type('[name=prompt]', 'a boat at dawn')
  await webkit.click('form [type=submit]')
  await webkit.until(
    `document.querySelector('.line-text') && document.querySelector('.pictures img')?.naturalWidth > 0`,
  )
  t.pass('a picture is made, seen and billed')
  await webkit.goTo(`${url}/console/playground?op=chat`)
  await webkit.until(`document.querySelector('[name=message]')`)
  await webkit.type('[name=message]', 'Hello')
  await webkit.click('form [type=submit]')
  await webkit.until(`document.querySelector('.sum-text')`)
  t.match(await webkit.evaluate(`document.querySelector('main').textContent`), /simulated answer to: Hello/)
}

/** Selects language and theme by the switches in the sidebar, and checks that the next page keeps them. */
async function switchLooks(t: Test, webkit: WebKit, url: string): Promise<void> {
  const ground = () => webkit.evaluate<string>('getComputedStyle(document.documentElement).backgroundColor')
  const light = await ground()
  await webkit.click('#side .switches [lang=zh-CN]')
  await webkit.until(
    `document.documentElement.lang === 'zh-CN' && /费用/.test(document.querySelector('#side').textContent)`,
  )
  await webkit.click('#side .switches :nth-child(2)')
  await webkit.until(`document.documentElement.dataset.theme === 'dark'`)
  t.not(await ground(), light, 'the switch of the theme')
  const dark = await ground()
  await webkit.goTo(`${url}/console/models`)
  await webkit.until(`document.querySelector('main h1')`)
  t.equal(await webkit.evaluate('document.documentElement.lang'), 'zh-CN', 'the switch of the language')
  t.equal(await ground(), dark, 'both are kept')
}

/** Sets a language and a theme, as the page's switches do. */
async function wear(webkit: WebKit, url: string, { language, theme, width, height }: Look): Promise<void> {
  await webkit.resize(width, height)
  await webkit.goTo(`${url}/console/models`)
  for (const [name, value] of Object.entries({ language, theme }))
    await webkit.evaluate(`localStorage.setItem('tollgate.${name}', '${value}')`)
  await webkit.goTo(`${url}/console/models`)
  await webkit.until(`document.querySelector('main h1')`)
}

/** Opens a scene, within the console without a page load, and returns its faults. */
async function see(webkit: WebKit, url: string, scene: Scene, look: Look): Promise<readonly string[]> {
  const { name, path, ready = 'main h1', inside } = scene
  if (inside) {
    const isOpen = await webkit.evaluate<boolean>(`Boolean(document.querySelector('#side'))`)
    if (!isOpen) await webkit.goTo(`${url}/console/models`)
    await webkit.evaluate(listen)
    await webkit.evaluate(`history.pushState(null, '', '${path}'), dispatchEvent(new PopStateEvent('popstate'))`)
  } else {
    await webkit.goTo(
      url + path + (/^\/(?:pricing|docs)/.test(path) ? `${path.includes('?') ? '&' : '?'}lang=${look.language}` : ''),
    )
    await webkit.evaluate(listen)
  }
  await webkit.until(`document.querySelector('main h1') && document.querySelector(${JSON.stringify(ready)})`)
  await webkit.until(`!document.querySelector('.loading, [aria-busy=true]')`)
  // Sliding animations have ended; endless ones, such as spinners, continue.
  await webkit.until(
    `document.getAnimations().every(({ playState, effect }) =>
      playState !== 'running' || effect.getComputedTiming().endTime === Infinity)`,
  )
  if (pictures !== undefined) {
    const file = `${name}-${look.language}-${look.theme}-${look.width}.png`
    await writeFile(join(pictures, file), await webkit.screenshot())
  }
  const width = await webkit.evaluate<number>('innerWidth')
  // One page shows an error on purpose.
  const problems = ready.includes('.problem')
    ? []
    : await webkit.evaluate<readonly string[]>(`[...document.querySelectorAll('.problem')].map(one => one.textContent)`)
  return [
    ...problems,
    ...(width === look.width ? [] : [`the window is ${width} px wide`]),
    ...(await webkit.evaluate<readonly string[]>('faults.splice(0)')),
    ...(await webkit.evaluate<readonly string[]>(layoutFaults.replace(/^\/\/.*\n/, '').replace(/^;/, ''))),
  ]
}
