import { stat } from 'node:fs/promises'
import { markSecretFile } from '../config/index.ts'
import type { CompiledConfig } from '../domain/index.ts'
import type { Log } from '../plugin-api/index.ts'
import type { Clock } from '../util/index.ts'

const lookMs = 2_000
const restMs = 100

export type SecretWatchParts = {
  readonly plan: () => CompiledConfig
  /** Reads the configuration again, including its secrets. */
  readonly reload: () => Promise<unknown>
  readonly log: Pick<Log, 'info' | 'warn'>
  readonly clock: Clock
  /** The polling interval of the files, in milliseconds; 2 s by default. */
  readonly lookMs?: number
}

/**
 * Applies changes of the files in `${file:…}`. The files are polled instead of watched, because tools that install
 * secrets replace links and parent folders, rename files, or truncate and write them. A missing or empty file is
 * reported once, and its previous content stays in use.
 */
export class SecretWatch {
  readonly #parts: SecretWatchParts
  readonly #lookMs: number
  /** The modification time and identity of each file, so that only changed ones are read. */
  readonly #seen = new Map<string, string>()
  /** Files that were unusable at the last check. */
  readonly #unfit = new Set<string>()
  #closed = false

  constructor(parts: SecretWatchParts) {
    this.#parts = parts
    this.#lookMs = parts.lookMs ?? lookMs
    this.#later()
  }

  close(): void {
    this.#closed = true
  }

  #later(): void {
    if (this.#closed) return
    this.#parts.clock.after(this.#lookMs, () => void this.look().finally(() => this.#later()))
  }

  /** Checks the files now. */
  async look(): Promise<void> {
    const inUse = this.#parts.plan().secretFiles
    for (const path of this.#seen.keys()) if (!inUse.has(path)) this.#seen.delete(path)
    let isNew = false
    for (const [path, mark] of inUse) {
      if (!(await this.#moved(path))) continue
      // The file may be half written.
      do await new Promise<void>(resolve => void this.#parts.clock.after(restMs, resolve))
      while (await this.#moved(path))
      isNew = (await this.#isNew(path, mark)) || isNew
    }
    if (!isNew || this.#closed) return
    try {
      await this.#parts.reload()
    } catch {
      // The reload reports the error; the next change triggers another attempt.
    }
  }

  /** Whether the file was replaced or written since the last check. */
  async #moved(path: string): Promise<boolean> {
    const now = await stat(path, { bigint: true }).then(
      ({ dev, ino, size, mtimeNs, ctimeNs }) => [dev, ino, size, mtimeNs, ctimeNs].join(' '),
      () => 'missing',
    )
    const moved = this.#seen.get(path) !== now
    this.#seen.set(path, now)
    return moved
  }

  async #isNew(path: string, mark: string): Promise<boolean> {
    const found = await markSecretFile(path)
    const { log } = this.#parts
    if ('reason' in found) {
      if (mark !== '' && !this.#unfit.has(path)) {
        const { reason } = found
        log.warn({ file: path, reason }, 'a secret file cannot be used; its previous value stays in use')
        this.#unfit.add(path)
      }
      return false
    }
    const isBack = this.#unfit.delete(path)
    if (isBack && found.mark === mark) log.info({ file: path }, 'a secret file is readable again, with the same value')
    // The reload may have been refused because of another simultaneous change.
    return isBack || found.mark !== mark
  }
}
