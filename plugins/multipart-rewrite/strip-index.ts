const bracketed = /^(.+)\[\d*\]$/s

/**
 * The name without the brackets of a list: `image`, `image[]` and `image[3]` are all `image`
 * (`docs/rules.md#image-edits`).
 */
export function stripIndex(name: string): string {
  return bracketed.exec(name)?.[1] ?? name
}

/** The name before the first bracket, whatever is inside: `image[a]` belongs to `image`. */
export function baseOf(name: string): string {
  const end = name.indexOf('[')
  return end > 0 ? name.slice(0, end) : name
}
