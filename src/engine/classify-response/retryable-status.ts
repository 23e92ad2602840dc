/** Statuses by which an upstream reports that it is unable, for any client. */
export function isRetryableStatus(status: number): boolean {
  return status === 429 || status === 529 || (status >= 500 && status !== 501)
}

/** Statuses that mean that nothing was begun: another upstream may safely be tried. */
export function isDefiniteRefusal(status: number): boolean {
  return status === 429 || status === 503 || status === 529
}
