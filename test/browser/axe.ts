import t from 'tap'
import { browse } from '../harness/browser.ts'
import { emptyScenes, furnish, type Scene, visit, written } from '../harness/furnish.ts'
import { lookAt, showAs, variants } from '../harness/look-at.ts'
import { englishOn } from '../harness/one-vocabulary.ts'
import { enterAsAdmin } from '../harness/visitor.ts'

// `npm run test:axe`: checks every page in both languages, light and dark, on a phone and a desktop, and that no
// Chinese page has English text. One row per page and language; a fault is printed below its row, and fails the run.

t.setTimeout(1_200_000)

t.test('every page in every language, theme and width', async t => {
  const browsing = await browse(t)
  const { url, faults } = browsing
  const admin = await enterAsAdmin(browsing)
  const heads = variants.map(({ width, theme }) => `${width} ${theme}`.padStart(11))
  const rows = [`${''.padEnd(28)}${heads.join('')}`]
  let looked = 0
  const look = async (scenes: readonly Scene[]) => {
    for (const language of ['zh', 'en'] as const) {
      const inside = await browsing.newPage({ language, as: admin })
      const outside = await browsing.newPage({ language })
      for (const scene of scenes) {
        const page = scene.inside ? inside : outside
        await visit(page, url, scene)
        const counts: number[] = []
        for (const variant of variants) {
          await showAs(page, variant)
          const found = await lookAt(page)
          looked++
          counts.push(found.length)
          if (found.length > 0) t.fail(`${scene.name} ${language} ${variant.theme} ${variant.width}`, { found })
        }
        const english = language === 'zh' ? await englishOn(page, written) : []
        if (english.length > 0) t.fail(`${scene.name} has English sentences`, { english })
        rows.push(`${`${scene.name} ${language}`.padEnd(28)}${counts.map(one => String(one).padStart(11)).join('')}`)
      }
      await inside.context().close()
      await outside.context().close()
    }
  }
  await look(emptyScenes)
  await look(await furnish(browsing, admin))
  for (const row of rows) t.comment(row)
  t.strictSame(faults, [])
  t.pass(`${looked} looks`)
})
