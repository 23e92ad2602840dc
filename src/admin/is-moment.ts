const form = /^(\d{4}-\d\d-\d\d)[Tt]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:[Zz]|[+-]\d\d:\d\d)$/
/** From the year 10000 on the format differs. */
const lastMs = Date.UTC(10_000, 0) - 1

/** Whether a text is a time with its zone that the gateway's clock can represent: leap seconds do not exist there. */
export function isMoment(text: string): boolean {
  const day = form.exec(text)?.[1]
  const ms = day === undefined ? Number.NaN : Date.parse(text)
  if (!(ms >= 0 && ms <= lastMs)) return false
  // `Date` would accept the 31st of February as the 3rd of March.
  return new Date(`${day}T00:00:00Z`).toISOString().startsWith(`${day}`)
}
