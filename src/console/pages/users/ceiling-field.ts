/** The name in the form of ceilings of a field of the interface: bounds of keys are called as in the form of a key. */
export function ceilingField(field: string): string {
  const ofKeys = /^key_bounds\.(?:limits\.)?(\w+)/.exec(field)?.[1]
  if (ofKeys !== undefined) return ofKeys
  return field === 'budget' || field === 'budget_period' ? `own_${field}` : field
}
