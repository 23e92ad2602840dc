import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { stringify } from 'yaml'
import { createGateway, explainRequest, loadConfig } from '../../src/index.ts'
import { merge, readRecipes, readShipped, simulatedIn } from '../harness/recipes.ts'
import { quietLog } from '../harness/start.ts'
import { caseName } from '../harness/case-name.ts'

/** The settings that a reader makes before the fragment works: every variable, with an address where one is needed. */
function variables(text: string): { readonly [name: string]: string } {
  const names = [...text.matchAll(/\$\{(\w+)/g)].map(([, name = '']) => name)
  const simulated = new Set(simulatedIn(text).map(([name]) => name))
  const needed = names.filter(name => !simulated.has(name))
  return Object.fromEntries(needed.map(name => [name, /URL|ENDPOINT/.test(name) ? 'https://one.example' : 'k-1']))
}

const shipped = await readShipped()

for (const { page, texts, fragments } of await readRecipes())
  t.test(`the lines of docs/recipes/${page} make a valid configuration with the shipped ones`, async t => {
    t.ok(texts.length > 0)
    const file = join(t.testdir(), 'gateway.yaml')
    let whole = shipped
    for (const [i, text] of texts.entries()) {
      const fragment = fragments[i] ?? {}
      whole = merge(whole, fragment)
      const storage = { TOLLGATE_STORAGE: 'sqlite::memory:', TOLLGATE_OPS: 'off' }
      await writeFile(file, stringify(whole, { lineWidth: 0 }))
      const loaded = await loadConfig(file, { ...storage, ...variables(text) })
      // Findings about what a translation cannot carry are always there.
      const found = (loaded.ok ? loaded.notes : loaded.findings).filter(({ code }) => code !== 'accepts_losses')
      t.strictSame(found, [], caseName({ text }))
      const names = Object.keys(fragment['models'] ?? {})
      if (!loaded.ok || names.length === 0) continue
      const { plan } = loaded
      for (const name of names) {
        const model = plan.models.get(name)
        t.ok(model, name)
        if (!model?.family.forward.has('image.generate')) continue
        const request = { model: name, operation: 'image.generate', size: '1024x1024', quality: undefined, n: 1 }
        t.match(await explainRequest(plan, request), { quote: { n: 1 } }, caseName({ text, name }))
      }
      const gateway = await createGateway(file, { plan, env: storage, log: quietLog() })
      t.ok(gateway.ready, 'and a gateway starts on it')
      await gateway.close()
    }
  })
