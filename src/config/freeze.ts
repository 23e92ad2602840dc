/** Freezes a value and all that it holds. Maps and sets cannot be frozen; what they hold is, and their types are read-only. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  Object.freeze(value)
  if (value instanceof Map) for (const inner of value.values()) deepFreeze(inner)
  else if (value instanceof Set) for (const inner of value) deepFreeze(inner)
  else for (const inner of Object.values(value)) deepFreeze(inner)
  return value
}
