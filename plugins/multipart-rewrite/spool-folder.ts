import { close, ftruncate, open, unlink } from 'node:fs'
import { mkdir, mkdtemp, rmdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Random } from '../../src/plugin-api/index.ts'
import { ByteBudget, ByteClaim } from '../../src/wire/index.ts'

const openFile = promisify(open)
const unlinkFile = promisify(unlink)
const truncateFile = promisify(ftruncate)

/** Files that are kept for uploads to come, at most. */
const sparesMax = 16

/** A file without a name, for reading and writing, and how long it is: of an upload before, of which nothing may be read. */
export type SpoolFile = { readonly fd: number; readonly bytes: number }

/** Where the files of uploads come from, and go to. */
export type SpoolFiles = {
  /** @param bytesMax longer it will not be, and is not */
  take(bytesMax: number): Promise<SpoolFile>
  /** It is not read or written any more. */
  give(file: SpoolFile): void
  /** The same of one that the disk refused something of. */
  drop(file: SpoolFile): void
}

/**
 * Gives out files without a name: each is unlinked as soon as it is open, so that nothing is left over however the
 * process ends. The folder is private to us (0700) and made when first needed.
 *
 * While other uploads are under way a file that is given back is kept for the next: to overwrite what the system has in
 * memory costs far less than a new file and its end, a fifth of the CPU of an upload of 30 MB. When the last upload ends none
 * is left. The oldest goes first, so that contents are overwritten soon.
 */
export class SpoolFolder implements SpoolFiles {
  readonly #given: string | undefined
  readonly #random: Pick<Random, 'bytes'>
  /** What the files that are kept take of the disk. */
  readonly #claim: ByteClaim
  readonly #spares: SpoolFile[] = []
  #inUse = 0
  #isClosed = false
  #path: Promise<string> | undefined

  /**
   * @param path a folder to use, made when absent; one of our own below the system's temporary folder when undefined
   * @param claim holds what is kept for others; where it cannot, nothing is kept
   */
  constructor(path: string | undefined, random: Pick<Random, 'bytes'>, claim = new ByteClaim(new ByteBudget())) {
    this.#given = path
    this.#random = random
    this.#claim = claim
  }

  /** A file for reading and writing. The caller gives it back. */
  async take(bytesMax: number): Promise<SpoolFile> {
    this.#inUse++
    try {
      const spare = this.#takeSpare()
      return spare ? await shorten(spare, bytesMax) : { fd: await this.#openAnew(), bytes: 0 }
    } catch (error) {
      this.#leave()
      throw error
    }
  }

  give(file: SpoolFile): void {
    if (!this.#isClosed && this.#claim.hold(this.#claim.bytes + file.bytes)) this.#spares.push(file)
    else closeFile(file)
    this.#leave()
  }

  drop(file: SpoolFile): void {
    closeFile(file)
    this.#leave()
  }

  /** Gives back what is kept for uploads to come. */
  clear(): void {
    this.#keep(0)
  }

  /** Removes the folder, if it is our own. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.clear()
    const path = await this.#path?.catch(() => undefined)
    this.#path = undefined
    if (path !== undefined && this.#given === undefined) await rmdir(path).catch(() => undefined)
  }

  #leave(): void {
    this.#inUse--
    this.#keep(this.#inUse === 0 ? 0 : sparesMax)
  }

  #keep(most: number): void {
    while (this.#spares.length > most) {
      const spare = this.#takeSpare()
      if (spare) closeFile(spare)
    }
  }

  #takeSpare(): SpoolFile | undefined {
    const spare = this.#spares.shift()
    if (spare) this.#claim.hold(this.#claim.bytes - spare.bytes)
    return spare
  }

  async #openAnew(): Promise<number> {
    try {
      return await this.#open()
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      // Cleaners of temporary folders take away what has been empty for days.
      this.#path = undefined
      return await this.#open()
    }
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

async function shorten(file: SpoolFile, bytesMax: number): Promise<SpoolFile> {
  if (file.bytes <= bytesMax) return file
  try {
    await truncateFile(file.fd, bytesMax)
    return { fd: file.fd, bytes: bytesMax }
  } catch (error) {
    closeFile(file)
    throw error
  }
}

function closeFile({ fd }: SpoolFile): void {
  close(fd, () => undefined)
}
