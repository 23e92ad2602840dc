import { globSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'

const root = resolve(import.meta.dirname, '../..')
const filesMax = 8

/** Folders whose files share processes. `.taprc` excludes them; the files of other folders have a process each. */
export const sharing: readonly string[] = ['browser', 'http', 'sdk', 'unit', 'vendors']

/** The files of such folders by the name of their process, with adjacent files together. */
export function groupFiles(): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, readonly string[]>()
  for (const folder of sharing) {
    const files = globSync(`test/${folder}/**/*.test.ts`, { cwd: root }).toSorted()
    const count = Math.ceil(files.length / filesMax)
    const from = (group: number): number => Math.floor((files.length * group) / count)
    // The last files, of stores and workers, take the longest: they get the names that tap starts first.
    for (let i = 0; i < count; i++)
      groups.set(`${folder}-${String(count - i).padStart(2, '0')}`, files.slice(from(i), from(i + 1)))
  }
  return groups
}

/** Writes test/together, with a file for each group. `npm test` and `npm run coverage` run it first. */
export async function writeTogether(): Promise<void> {
  const home = resolve(root, 'test/together')
  await rm(home, { recursive: true, force: true })
  await mkdir(home)
  for (const [name, files] of groupFiles()) {
    const lines = [`import { runTogether } from '../harness/together.ts'`, '']
    lines.push(`await runTogether(${JSON.stringify(files, null, 2)})`, '')
    await writeFile(resolve(home, `${name}.test.ts`), lines.join('\n'))
  }
}
