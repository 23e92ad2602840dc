const prefix = 'tollgate.'

/** What this browser keeps: the user's preferences, never anything secret. A browser that refuses just forgets. */
export const remember = {
  read<T extends string>(name: string, known: readonly T[]): T | undefined {
    const kept = remember.text(name)
    return known.find(one => one === kept)
  },
  /** As it was written, by whomever. */
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
      // Then nothing is kept.
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
