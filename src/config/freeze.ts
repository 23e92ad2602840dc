/**
 * Freezes a value and everything in it. Maps and sets cannot be frozen: their contents are, and their types are
 * read-only. `except` is not frozen.
 */
export function deepFreeze<T>(value: T, except?: object): T {
  if (typeof value !== 'object' || value === null || value === except || Object.isFrozen(value)) return value
  Object.freeze(value)
  if (value instanceof Map) for (const inner of value.values()) deepFreeze(inner, except)
  else if (value instanceof Set) for (const inner of value) deepFreeze(inner, except)
  else for (const inner of Object.values(value)) deepFreeze(inner, except)
  return value
}
