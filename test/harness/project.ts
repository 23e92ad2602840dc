import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Edits, editYaml } from './edit-yaml.ts'

const library = new URL('../../src/index.ts', import.meta.url).href
const shipped = new URL('../../gateway.yaml', import.meta.url)

export type Project = { readonly folder: string; readonly config: string }

/**
 * Creates a folder as `npm install tollgate` leaves it: the library by its name, here with these sources, and the
 * shipped configuration. test/house/package.test.ts checks the contents of the package itself.
 */
export async function layProject(folder: string, edits: Edits = []): Promise<Project> {
  const home = join(folder, 'node_modules/tollgate')
  await mkdir(home, { recursive: true })
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
  await writeFile(join(home, 'package.json'), '{ "name": "tollgate", "type": "module", "exports": "./index.js" }')
  await writeFile(join(home, 'index.js'), `export * from '${library}'\n`)
  const config = join(folder, 'gateway.yaml')
  await writeFile(config, await editShipped(edits))
  return { folder, config }
}

/** The shipped configuration with changes. @throws Error when a text to change does not occur */
export async function editShipped(edits: Edits): Promise<string> {
  return editYaml(await readFile(shipped, 'utf8'), edits)
}

/** Adds a package to the project, as `npm install` would copy it. */
export async function addPackage({ folder }: Project, from: URL, name: string): Promise<void> {
  await cp(from, join(folder, 'node_modules', name), { recursive: true })
}

/** The code blocks of a page in one language, in order. */
export async function readBlocks(page: string, language: string): Promise<readonly string[]> {
  const text = await readFile(new URL(`../../docs/${page}`, import.meta.url), 'utf8')
  return [...text.matchAll(/^```(\w+)\n([^]*?)^```$/gm)]
    .filter(([, name]) => name === language)
    .map(([, , code = '']) => code)
}
