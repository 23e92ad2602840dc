const prefix = 'tollgate.'

/** Preferences in this browser, which are never secret. A browser that refuses to store them forgets them. */
export const remember = {
  read<T extends string>(name: string, known: readonly T[]): T | undefined {
    const kept = remember.text(name)
    return known.find(one => one === kept)
  },
  /** A text as stored, without validation. */
  text(name: string): string | undefined {
    try {
      return localStorage.getItem(prefix + name) ?? undefined
    } catch {
      return undefined
    }
  },
  forget(name: string): void {
    try {
      localStorage.removeItem(prefix + name)
    } catch {
      // Nothing is stored then.
    }
  },
  write(name: string, value: string): void {
    try {
      localStorage.setItem(prefix + name, value)
    } catch {
      // Private windows may refuse this.
    }
  },
}
