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

/** The maximum number of files kept for future uploads. */
const sparesMax = 16

/**
 * An unlinked file, for reading and writing, with its length: it may contain bytes of an earlier upload, which must not
 * be read.
 */
export type SpoolFile = { readonly fd: number; readonly bytes: number }

/** The source of files for uploads. */
export type SpoolFiles = {
  /** @param bytesMax the maximum length of the file, including the bytes that it already has */
  take(bytesMax: number): Promise<SpoolFile>
  /** Returns a file that is no longer used. */
  give(file: SpoolFile): void
  /** Returns a file after a disk error. */
  drop(file: SpoolFile): void
}

/**
 * Provides unlinked files: each is unlinked as soon as it is open, so that nothing remains however the process ends.
 * The folder is private (0700) and created on first use.
 *
 * While other uploads run, a returned file is kept for the next: overwriting pages in the system's memory costs far
 * less than creating and deleting a file, a fifth of the CPU of an upload of 30 MB. When the last upload ends, no file
 * remains. The oldest file is used first, so that contents are overwritten soon.
 */
export class SpoolFolder implements SpoolFiles {
  readonly #given: string | undefined
  readonly #random: Pick<Random, 'bytes'>
  /** The disk space of the kept files. */
  readonly #claim: ByteClaim
  readonly #spares: SpoolFile[] = []
  #inUse = 0
  #isClosed = false
  #path: Promise<string> | undefined

  /**
   * @param path a folder to use, created if absent; if undefined, a separate folder in the system's temporary folder
   * @param claim holds the kept bytes; if it has no space, nothing is kept
   */
  constructor(path: string | undefined, random: Pick<Random, 'bytes'>, claim = new ByteClaim(new ByteBudget())) {
    this.#given = path
    this.#random = random
    this.#claim = claim
  }

  /** A file for reading and writing. The caller must return it. */
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

  /** Removes the files kept for future uploads. */
  clear(): void {
    this.#keep(0)
  }

  /** Removes the folder, if it was created here. */
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
      // Cleaners of temporary folders remove folders that have been empty for days.
      this.#path = undefined
      return await this.#open()
    }
  }

  async #open(): Promise<number> {
    this.#path ??= this.#make().catch((error: unknown) => {
      // A full disk has room later.
      this.#path = undefined
      throw error
    })
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
