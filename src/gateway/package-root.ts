import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of this file's package, regardless of the build's location, and its package.json. */
export async function findPackage(): Promise<{ readonly root: string; readonly version: string }> {
  let folder = dirname(fileURLToPath(import.meta.url))
  for (;;) {
    const text = await readFile(join(folder, 'package.json'), 'utf8').catch(() => undefined)
    const found = text === undefined ? undefined : (JSON.parse(text) as { name?: string; version?: string })
    if (found?.name === 'tollgate') return { root: folder, version: String(found.version) }
    if (dirname(folder) === folder) throw new Error('package.json is missing next to the program')
    folder = dirname(folder)
  }
}
