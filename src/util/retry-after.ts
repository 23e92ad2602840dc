/** Retry-After in milliseconds: seconds or a date (RFC 9110 10.2.3); undefined without a value. */
export function retryAfterMs(value: string | string[] | undefined, nowMs: number): number | undefined {
  if (typeof value !== 'string') return undefined
  const seconds = Number(value)
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(value) - nowMs
  return ms > 0 ? ms : undefined
}
