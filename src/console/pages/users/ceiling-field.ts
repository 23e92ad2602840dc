/** What the form of ceilings calls a field of the interface: what keys may have stands there as in the form of a key. */
export function ceilingField(field: string): string {
  const ofKeys = /^key_bounds\.(?:limits\.)?(\w+)/.exec(field)?.[1]
  if (ofKeys !== undefined) return ofKeys
  return field === 'budget' || field === 'budget_period' ? `own_${field}` : field
}
