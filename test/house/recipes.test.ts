import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { parse, stringify } from 'yaml'
import { createGateway, explainRequest, loadConfig } from '../../src/index.ts'
import { editShipped, readBlocks } from '../harness/project.ts'
import { quietLog } from '../harness/start.ts'
import { caseName } from '../harness/case-name.ts'

type Tree = { readonly [key: string]: unknown }

const isTree = (value: unknown): value is Tree => typeof value === 'object' && value !== null && !Array.isArray(value)

/** A fragment beside what is there: below the key of the same name, as the recipes tell their readers to. */
function merge(whole: Tree, fragment: Tree): Tree {
  const merged: { [key: string]: unknown } = { ...whole }
  for (const [key, value] of Object.entries(fragment)) {
    const there = merged[key]
    merged[key] = isTree(there) && isTree(value) ? merge(there, value) : value
  }
  return merged
}

/** What a reader sets before the fragment works: every variable, an address where one is asked for. */
function variables(text: string): { readonly [name: string]: string } {
  const names = [...text.matchAll(/\$\{(\w+)/g)].map(([, name = '']) => name)
  return Object.fromEntries(names.map(name => [name, /URL|ENDPOINT/.test(name) ? 'https://one.example' : 'k-1']))
}

const shipped = parse(await editShipped([])) as Tree
const pages = (await readdir(new URL('../../docs/recipes/', import.meta.url)))
  .filter(name => name !== 'README.md')
  .sort()

for (const page of pages)
  t.test(`the lines of docs/recipes/${page} make a valid configuration with the shipped ones`, async t => {
    const fragments = await readBlocks(`recipes/${page}`, 'yaml')
    t.ok(fragments.length > 0)
    const file = join(t.testdir(), 'gateway.yaml')
    for (const text of fragments) {
      const fragment = parse(text) as Tree
      const storage = { TOLLGATE_STORAGE: 'sqlite::memory:', TOLLGATE_OPS: 'off' }
      await writeFile(file, stringify(merge(shipped, fragment), { lineWidth: 0 }))
      const loaded = await loadConfig(file, { ...storage, ...variables(text) })
      t.strictSame(loaded.ok ? loaded.notes : loaded.findings, [], caseName({ text }))
      const names = Object.keys(fragment['models'] ?? {})
      if (!loaded.ok || names.length === 0) continue
      const { plan } = loaded
      for (const name of names) {
        const model = plan.models.get(name)
        t.ok(model, name)
        if (!model?.family.forward.has('image.generate')) continue
        const request = { model: name, operation: 'image.generate', size: '1024x1024', quality: undefined, n: 1 }
        t.match(await explainRequest(plan, request), { quote: { tier: '1K', n: 1 } }, caseName({ text, name }))
      }
      const gateway = await createGateway(file, { plan, env: storage, log: quietLog() })
      t.ok(gateway.ready, 'and a gateway starts on it')
      await gateway.close()
    }
  })
