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

t.test('no package that is installed with this one runs a script of its own [X11]', async t => {
  const { packages } = await readJson<{ packages: Locked }>('package-lock.json')
  const scripted = Object.entries(packages).filter(([, { dev, hasInstallScript }]) => dev !== true && hasInstallScript)
  t.strictSame(
    scripted.map(([path]) => path),
    [],
  )
})
