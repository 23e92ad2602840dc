import type { Settings } from './settings.ts'

type Version = { readonly from: number; until: number; readonly settings: Settings }

/** Configurations of one gateway, each with when it may have been in use first; until the next has been read. */
export class Versions {
  readonly #now: () => number
  readonly #all: Version[] = []
  settings: Settings

  /** `now` is the time by the world, in milliseconds. */
  constructor(now: () => number, settings: Settings) {
    this.#now = now
    this.settings = settings
    this.save(settings)
  }

  /** Another one is saved: whoever reads it from now on finds that. */
  save(settings: Settings): void {
    this.settings = settings
    this.#all.push({ from: this.#now(), until: Infinity, settings })
  }

  /** The latest has been read: those before it are for requests of before. */
  take(): void {
    for (const version of this.#all.slice(0, -1)) version.until = Math.min(version.until, this.#now())
  }

  /** All that may have decided about what happened between two times. */
  between(from: number, until = Infinity): readonly Settings[] {
    return this.#all.filter(one => one.from <= until && one.until >= from).map(one => one.settings)
  }
}
