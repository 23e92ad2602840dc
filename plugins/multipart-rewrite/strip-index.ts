const bracketed = /^(.+)\[\d*\]$/s

/** The name without the brackets of a list: `image`, `image[]` and `image[3]` are all `image` (requirement 2.3). */
export function stripIndex(name: string): string {
  return bracketed.exec(name)?.[1] ?? name
}
