import { constants } from 'node:fs'
import { glob, open } from 'node:fs/promises'
import { matchesGlob, resolve } from 'node:path'

const bytesMax = 16 * 1024 * 1024

/** Texts of files that belong to a configuration, by their absolute paths. */
export type PartTexts = { readonly [path: string]: string }

/** Reads the files of a configuration, and records them, so that they are watched too. */
export class PartFiles {
  /** Absolute paths of all requested files, including unreadable ones. */
  readonly files = new Set<string>()
  /** Absolute patterns; new files that match would be included. */
  readonly patterns = new Set<string>()
  readonly texts: { [path: string]: string } = {}
  readonly #given: PartTexts | undefined
  readonly #allowed: ReadonlySet<string> | undefined

  /**
   * @param given texts of files that were read already
   * @param allowed the only files that the author of the text may read
   */
  constructor(given?: PartTexts, allowed?: ReadonlySet<string>) {
    this.#given = given
    this.#allowed = allowed
  }

  /** The text of a file, or the reason why it is unavailable. */
  async read(path: string): Promise<{ readonly text: string } | { readonly reason: string }> {
    if (this.#allowed && !this.#allowed.has(path)) return { reason: 'the active configuration does not use it' }
    this.files.add(path)
    const text = this.#given ? this.#given[path] : await readText(path)
    if (text === undefined) return { reason: 'ENOENT' }
    if (typeof text !== 'string') return text
    const clean = text.replace(/^\uFEFF/, '')
    this.texts[path] = clean
    return { text: clean }
  }

  /** The matches of a pattern in a folder, in the order of their names. */
  async find(pattern: string, folder: string): Promise<readonly string[]> {
    const whole = resolve(folder, pattern)
    this.patterns.add(whole)
    if (this.#given)
      return Object.keys(this.#given)
        .filter(path => matchesGlob(path, whole))
        .sort()
    const paths: string[] = []
    for await (const name of glob(pattern, { cwd: folder })) paths.push(resolve(folder, name))
    paths.sort()
    return this.#allowed ? paths.filter(path => this.#allowed?.has(path)) : paths
  }
}

async function readText(path: string): Promise<string | { readonly reason: string }> {
  try {
    // Opening a pipe for reading would block.
    const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      const facts = await handle.stat()
      if (!facts.isFile()) return { reason: 'it is not a file' }
      if (facts.size > bytesMax) return { reason: `it is longer than ${bytesMax} bytes` }
      return await handle.readFile('utf8')
    } finally {
      await handle.close()
    }
  } catch (error) {
    return { reason: (error as NodeJS.ErrnoException).code ?? 'unknown reason' }
  }
}

export function isPattern(name: string): boolean {
  return /[*?[{]/.test(name)
}
