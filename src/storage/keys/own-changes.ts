import type { KeyChanges } from '../../domain/index.ts'

/** More changes than this count as a change of everything. */
const subjectsMax = 1_000

/** A key or a user; null if unknown. */
type Subject = { readonly key: string } | { readonly user: string } | null

/** The changes of keys and users that this process has made or tried; caches of keys read them. */
export class OwnChanges {
  #subjects: Subject[] = []
  count = 0

  async counted<T>(subject: Subject, change: Promise<T>): Promise<T> {
    try {
      return await change
    } finally {
      this.count++
      this.#subjects.push(subject)
      if (this.#subjects.length > subjectsMax) this.#subjects.shift()
    }
  }

  /** The changes since the count was `count`; undefined if not all of them are known. */
  since(count: number): KeyChanges | undefined {
    const made = this.count - count
    if (made < 0 || made > this.#subjects.length) return undefined
    const subjects = made === 0 ? [] : this.#subjects.slice(-made)
    const keys = new Set<string>()
    const users = new Set<string>()
    for (const subject of subjects) {
      if (subject === null) return undefined
      if ('key' in subject) keys.add(subject.key)
      else users.add(subject.user)
    }
    return { keys, users }
  }
}
