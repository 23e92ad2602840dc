import { execFile } from 'node:child_process'
import { glob, readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'

// `npm run sbom`: the packages of a release as CycloneDX. npm's own `--omit dev` leaves out every package that some
// development package needs too. So this reads the complete list and drops packages that only development uses.

const root = resolve(import.meta.dirname, '../..')

type Component = {
  readonly 'bom-ref': string
  readonly name: string
  readonly version: string
  readonly properties?: readonly { readonly name: string; readonly value: string }[]
}
type Dependency = { readonly ref: string; readonly dependsOn?: readonly string[] }
export type Bill = {
  readonly bomFormat: string
  readonly metadata: { readonly component: Component }
  readonly components: readonly Component[]
  readonly dependencies: readonly Dependency[]
}
type Locked = { readonly [path: string]: { readonly dependencies?: { readonly [name: string]: string } } }

const readJson = async <T>(file: string) => JSON.parse(await readFile(join(root, file), 'utf8')) as T

/** Packages that are installed with this one, and packages inside its console. */
export async function writeBill(): Promise<Bill> {
  const { name } = await readJson<{ name: string }>('package.json')
  const { stdout } = await promisify(execFile)('npm', ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx'], {
    cwd: root,
    maxBuffer: 64 * 1024 * 1024,
  })
  const bill = JSON.parse(stdout) as Bill
  const within = await bundled()
  const components = bill.components.filter(component => !isForDevelopment(component) || within.has(component.name))
  const kept = new Set([bill.metadata.component, ...components].map(component => component['bom-ref']))
  return {
    ...bill,
    metadata: { ...bill.metadata, component: { ...bill.metadata.component, name } },
    components,
    dependencies: bill.dependencies
      .filter(({ ref }) => kept.has(ref))
      .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter(other => kept.has(other)) })),
  }
}

const isForDevelopment = ({ properties = [] }: Component): boolean =>
  properties.some(({ name, value }) => name === 'cdx:npm:package:development' && value === 'true')

/** Packages whose code is part of the console's pages: they are bundled, not installed. */
async function bundled(): Promise<ReadonlySet<string>> {
  const { packages } = await readJson<{ packages: Locked }>('package-lock.json')
  const names = new Set<string>()
  for await (const file of glob('src/console/**/*.{ts,tsx}', { cwd: root })) {
    if (file.endsWith('.config.ts')) continue
    const text = await readFile(join(root, file), 'utf8')
    for (const [, name] of text.matchAll(/^(?:import .*|export .*|\} )from '((?:@[\w-]+\/)?[\w-]+)[^']*'/gm))
      if (name) names.add(name)
  }
  // Iterating over a set includes elements that are added meanwhile.
  for (const name of names)
    for (const next of Object.keys(packages[`node_modules/${name}`]?.dependencies ?? {})) names.add(next)
  return names
}

if (import.meta.main) process.stdout.write(`${JSON.stringify(await writeBill(), null, 2)}\n`)
