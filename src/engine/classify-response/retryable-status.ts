/** Statuses by which an upstream reports that it is unable, for any client. */
export function isRetryableStatus(status: number): boolean {
  return status === 429 || status === 529 || (status >= 500 && status !== 501)
}

/** Statuses that mean that nothing was begun: another upstream may safely be tried. */
export function isDefiniteRefusal(status: number): boolean {
  return status === 429 || status === 503 || status === 529
}

/** Retry-After in milliseconds: seconds or a date (RFC 9110 10.2.3); undefined without a value. */
export function retryAfterMs(value: string | string[] | undefined, nowMs: number): number | undefined {
  if (typeof value !== 'string') return undefined
  const seconds = Number(value)
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(value) - nowMs
  return ms > 0 ? ms : undefined
}
