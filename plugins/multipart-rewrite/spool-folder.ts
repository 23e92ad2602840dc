import { open, unlink } from 'node:fs'
import { mkdir, mkdtemp, rmdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Random } from '../../src/kit/index.ts'

const openFile = promisify(open)
const unlinkFile = promisify(unlink)

/**
 * Gives out files without a name: each is unlinked as soon as it is open, so that nothing is left behind however the
 * process ends. The folder is private to us (0700) and made when first needed.
 */
export class SpoolFolder {
  readonly #given: string | undefined
  readonly #random: Pick<Random, 'bytes'>
  #path: Promise<string> | undefined

  /** @param path a folder to use, made when absent; one of our own below the system's temporary folder when undefined */
  constructor(path: string | undefined, random: Pick<Random, 'bytes'>) {
    this.#given = path
    this.#random = random
  }

  /** A descriptor of a new, empty file for reading and writing. Whoever asked closes it. */
  async openFile(): Promise<number> {
    try {
      return await this.#open()
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      // Cleaners of temporary folders take away what has been empty for days.
      this.#path = undefined
      return await this.#open()
    }
  }

  /** Removes the folder, if it is our own. */
  async close(): Promise<void> {
    const path = await this.#path?.catch(() => undefined)
    this.#path = undefined
    if (path !== undefined && this.#given === undefined) await rmdir(path).catch(() => undefined)
  }

  async #open(): Promise<number> {
    this.#path ??= this.#make()
    const path = join(await this.#path, this.#random.bytes(16).toString('hex'))
    const file = await openFile(path, 'wx+', 0o600)
    await unlinkFile(path)
    return file
  }

  async #make(): Promise<string> {
    if (this.#given === undefined) return mkdtemp(join(tmpdir(), 'tollgate-spool-'))
    await mkdir(this.#given, { recursive: true, mode: 0o700 })
    return this.#given
  }
}
