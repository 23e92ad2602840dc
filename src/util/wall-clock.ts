/** How many zones are cached. A request may spell a zone in any case, so that there is no end of spellings. */
const zonesKept = 64
const formats = new Map<string, Intl.DateTimeFormat>()

/** Before one more is kept: what was kept first goes where there are enough. */
export function makeRoomIn(kept: Map<string, unknown>): void {
  if (kept.size < zonesKept) return
  const [first] = kept.keys()
  if (first !== undefined) kept.delete(first)
}

function formatOf(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone)
  if (!format) {
    const two = '2-digit'
    const parts = { year: 'numeric', month: two, day: two, hour: two, minute: two, second: two } as const
    format = new Intl.DateTimeFormat('en-US', { ...parts, timeZone: zone, hourCycle: 'h23' })
    makeRoomIn(formats)
    formats.set(zone, format)
  }
  return format
}

/** Whether there is a zone of this name, or a distance from UTC such as `+02:00`. */
export function isZone(name: string): boolean {
  if (name === '') return false
  try {
    formatOf(name)
    return true
  } catch {
    return false
  }
}

/** The time of a wall clock at a moment, as that moment would be if the zone were UTC. */
export function wallOf(zone: string, at: number): number {
  const parts: { [part: string]: number } = {}
  for (const { type, value } of formatOf(zone).formatToParts(at)) parts[type] = Number(value)
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts
  return Date.UTC(year, month - 1, day, hour, minute, second) + (((at % 1000) + 1000) % 1000)
}
