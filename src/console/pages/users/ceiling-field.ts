/** The form's name for an API field of bounds: bounds of keys have the same names as in the form of a key. */
export function ceilingField(field: string): string {
  const ofKeys = /^key_bounds\.(?:limits\.)?(\w+)/.exec(field)?.[1]
  if (ofKeys !== undefined) return ofKeys
  return field.startsWith('budget') ? `own_${field}` : field
}
