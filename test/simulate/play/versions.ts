import type { Settings } from './settings.ts'

type Version = { readonly from: number; until: number; readonly settings: Settings }

/** Configurations of one gateway, each with the time from which it may have been in use; until the next one is read. */
export class Versions {
  readonly #now: () => number
  readonly #all: Version[] = []
  settings: Settings

  /** `now` is the world's time in milliseconds. */
  constructor(now: () => number, settings: Settings) {
    this.#now = now
    this.settings = settings
    this.save(settings)
  }

  /** A new one is saved: reads from now on return it. */
  save(settings: Settings): void {
    this.settings = settings
    this.#all.push({ from: this.#now(), until: Infinity, settings })
  }

  /** The latest has been read: earlier ones apply only to earlier requests. */
  take(): void {
    for (const version of this.#all.slice(0, -1)) version.until = Math.min(version.until, this.#now())
  }

  /** All configurations that may have been in use between two times. */
  between(from: number, until = Infinity): readonly Settings[] {
    return this.#all.filter(one => one.from <= until && one.until >= from).map(one => one.settings)
  }
}
