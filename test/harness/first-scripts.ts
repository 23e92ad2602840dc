import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Scripts of the built console: those that its page loads, and all of their static imports. */
export type FirstScripts = { readonly named: readonly string[]; readonly all: readonly string[] }

/** `folder`: the folder of the built console. The scripts are files in it. */
export async function readFirstScripts(folder: string): Promise<FirstScripts> {
  const page = await readFile(join(folder, 'index.html'), 'utf8')
  const named = [...page.matchAll(/(?:src|href)="\/console\/([^"]+\.js)"/g)].map(([, name = '']) => name)
  const found = new Set(named)
  for (const script of found) {
    const text = await readFile(join(folder, script), 'utf8')
    for (const [, name = ''] of text.matchAll(/(?:\bfrom|\bimport)\s*["'`]\.\/([^"'`]+\.js)["'`]/g))
      found.add(`assets/${name}`)
  }
  return { named, all: [...found] }
}
