const form = /^(\d{4}-\d\d-\d\d)[Tt]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:[Zz]|[+-]\d\d:\d\d)$/
/** The year 10000 is written otherwise. */
const lastMs = Date.UTC(10_000, 0) - 1

/** Whether a text is a moment with its zone that a clock of ours can hold: of leap seconds there is none. */
export function isMoment(text: string): boolean {
  const day = form.exec(text)?.[1]
  const ms = day === undefined ? Number.NaN : Date.parse(text)
  if (!(ms >= 0 && ms <= lastMs)) return false
  // The 31st of February is taken for the 3rd of March.
  return new Date(`${day}T00:00:00Z`).toISOString().startsWith(`${day}`)
}
