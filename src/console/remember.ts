const prefix = 'tollgate.'

/** What this browser keeps: choices of look and language, never anything secret. A browser that refuses just forgets. */
export const remember = {
  read<T extends string>(name: string, known: readonly T[]): T | undefined {
    try {
      const kept = localStorage.getItem(prefix + name)
      return known.find(one => one === kept)
    } catch {
      return undefined
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
