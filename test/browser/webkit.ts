import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { caseName } from '../harness/case-name.ts'
import { emptyScenes, furnish, type Scene } from '../harness/furnish.ts'
import { start } from '../harness/start.ts'
import { enterAsAdmin, passwordOfTests } from '../harness/visitor.ts'
import { openWebKit, webkitMissing, type WebKit } from '../harness/webkit.ts'

// `npm run test:browsers -- webkit`: every page in WebKit, on a phone and a desk, in both languages and themes: it comes, nothing of it
// fails, is cut or stands beyond an edge. `PICTURES=folder` keeps what was seen.

t.setTimeout(1_200_000)

const layoutFaults = await readFile(new URL('../harness/layout-faults.js', import.meta.url), 'utf8')
const looks = [
  { language: 'en', theme: 'light', width: 1280, height: 800 },
  { language: 'zh', theme: 'dark', width: 360, height: 740 },
  { language: 'zh', theme: 'light', width: 1280, height: 800 },
  { language: 'en', theme: 'dark', width: 360, height: 740 },
] as const
type Look = (typeof looks)[number]

/** Of what the page does from here on: what nobody caught, and what its policy refused. */
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

  await webkit.goTo(`${url}/console/login`)
  await webkit.until(`document.querySelector('[name=password]')`)
  await webkit.type('[name=name]', 'root')
  await webkit.type('[name=password]', passwordOfTests)
  await webkit.click('form [type=submit]')
  await webkit.until(`document.querySelector('#side')`)
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
  await walk(await furnish(started, admin))

  await webkit.goTo(`${url}/console/playground?op=image.generate&model=alpha-image-2`)
  await webkit.until(`document.querySelector('.quote')`)
  await webkit.type('[name=prompt]', 'a boat at dawn')
  await webkit.click('form [type=submit]')
  await webkit.until(
    `document.querySelector('.line-text') && document.querySelector('.pictures img')?.naturalWidth > 0`,
  )
  t.pass('a picture is made, seen and billed')
})

/** Chooses a language and a theme, as its own switches would. */
async function wear(webkit: WebKit, url: string, { language, theme, width, height }: Look): Promise<void> {
  await webkit.resize(width, height)
  await webkit.goTo(`${url}/console/models`)
  for (const [name, value] of Object.entries({ language, theme }))
    await webkit.evaluate(`localStorage.setItem('tollgate.${name}', '${value}')`)
  await webkit.goTo(`${url}/console/models`)
  await webkit.until(`document.querySelector('main h1')`)
}

/** Goes to a scene, within the console without a new page, and says what is wrong with it. */
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
  if (pictures !== undefined) {
    const file = `${name}-${look.language}-${look.theme}-${look.width}.png`
    await writeFile(join(pictures, file), await webkit.screenshot())
  }
  const width = await webkit.evaluate<number>('innerWidth')
  // One page is there to show that something is missing.
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
