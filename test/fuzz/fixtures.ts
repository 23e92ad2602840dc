import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** A case that once failed, or that must be tested every time. */
export type Fixture = { readonly note: string; readonly case: unknown }

const folder = join(import.meta.dirname, 'fixtures')

export async function readFixtures(name: string): Promise<readonly Fixture[]> {
  return readList<Fixture>(join(folder, `${name}.json`))
}

/** Keeps a case under a note, unless a case with the same note exists. */
export async function keepFixture(name: string, fixture: Fixture): Promise<void> {
  const kept = await readFixtures(name)
  if (kept.some(other => other.note === fixture.note)) return
  await writeList(folder, name, [...kept, fixture])
}

export async function readList<T>(file: string): Promise<readonly T[]> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as readonly T[]
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/** Writes one element per line, so that a diff shows each added case. */
export async function writeList(into: string, name: string, list: readonly unknown[]): Promise<void> {
  await mkdir(into, { recursive: true })
  await writeFile(join(into, `${name}.json`), `[\n${list.map(one => JSON.stringify(one)).join(',\n')}\n]\n`)
}
