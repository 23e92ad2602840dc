import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import t from 'tap'
import { writeBill } from './bill-of-materials.ts'
import { caseName } from '../harness/case-name.ts'

const root = resolve(import.meta.dirname, '../..')
const readJson = async <T>(file: string) => JSON.parse(await readFile(join(root, file), 'utf8')) as T

type Locked = { readonly [path: string]: { readonly dev?: boolean; readonly hasInstallScript?: boolean } }

t.test('the bill of materials names every package that is installed with this one, and no other [X12]', async t => {
  const { packages } = await readJson<{ packages: Locked }>('package-lock.json')
  const { name, devDependencies } = await readJson<{ name: string; devDependencies: object }>('package.json')
  const bill = await writeBill()
  t.equal(bill.bomFormat, 'CycloneDX')
  t.equal(bill.metadata.component.name, name)
  const named = new Set(bill.components.map(component => component.name))
  const installed = Object.entries(packages).filter(([path, { dev }]) => path !== '' && dev !== true)
  for (const [path] of installed) t.ok(named.has(path.replace(/.*node_modules\//, '')), path)
  for (const tool of ['tap', 'typescript', 'vite']) {
    t.ok(tool in devDependencies, caseName({ tool }))
    t.notOk(named.has(tool), tool)
  }
  const refs = new Set(bill.components.map(component => component['bom-ref']))
  for (const { dependsOn = [] } of bill.dependencies) for (const ref of dependsOn) t.ok(refs.has(ref), ref)
})

t.test('the changelog has one entry for the version of the package, as release notes', async t => {
  const { version } = await readJson<{ version: string }>('package.json')
  const changelog = await readFile(join(root, 'CHANGELOG.md'), 'utf8')
  const [, ...entries] = changelog.split(/^## /m)
  const [notes, ...more] = entries.filter(entry => entry.split('\n')[0]?.split(' ')[0] === version)
  t.ok(notes && notes.split('\n').length > 10, version)
  t.strictSame(more, [])
})

t.test('no package that is installed with this one runs a script of its own [X11]', async t => {
  const { packages } = await readJson<{ packages: Locked }>('package-lock.json')
  const scripted = Object.entries(packages).filter(([, { dev, hasInstallScript }]) => dev !== true && hasInstallScript)
  t.strictSame(
    scripted.map(([path]) => path),
    [],
  )
})
