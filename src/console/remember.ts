const prefix = 'tollgate.'

/** Preferences that this browser stores, never anything secret. A browser that refuses forgets them. */
export const remember = {
  read<T extends string>(name: string, known: readonly T[]): T | undefined {
    const kept = remember.text(name)
    return known.find(one => one === kept)
  },
  /** As written, by any code. */
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
      // Then nothing is stored.
    }
  },
  write(name: string, value: string): void {
    try {
      localStorage.setItem(prefix + name, value)
    } catch {
      // Private windows may refuse.
    }
  },
}
