/** ISO 8601, UTC; null for null. */
export function toMoment(ms: number): string
export function toMoment(ms: number | null): string | null
export function toMoment(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString()
}
