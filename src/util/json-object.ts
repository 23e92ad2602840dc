export type Members = { readonly [name: string]: unknown }

/** An object: neither null nor a list. */
export function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The members of an object; empty for any other value. */
export function membersOf(value: unknown): Members {
  return isObject(value) ? value : {}
}

/** Parses a text that is a JSON object; undefined for any other text. */
export function parseObject(text: Buffer | string): Members | undefined {
  try {
    const value: unknown = JSON.parse(text.toString())
    return isObject(value) ? value : undefined
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/** The value at a path of own members; undefined if there is none. */
export function valueAtNames(value: unknown, names: readonly string[]): unknown {
  let at = value
  for (const name of names) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined
    at = (at as Members)[name]
  }
  return at
}
