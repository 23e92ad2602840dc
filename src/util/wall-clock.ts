/** The number of cached zones. Requests may spell a zone in any case, so the number of spellings is unlimited. */
const zonesKept = 64
const formats = new Map<string, Intl.DateTimeFormat>()

/** Makes room in a full cache: the oldest entry is dropped. */
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

/** Whether a zone of this name exists, or the text is an offset from UTC such as `+02:00`. */
export function isZone(name: string): boolean {
  if (name === '') return false
  try {
    formatOf(name)
    return true
  } catch {
    return false
  }
}

/** The wall clock time of a zone at a moment, as the timestamp that it would have if the zone were UTC. */
export function wallOf(zone: string, at: number): number {
  const parts: { [part: string]: number } = {}
  for (const { type, value } of formatOf(zone).formatToParts(at)) parts[type] = Number(value)
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts
  return Date.UTC(year, month - 1, day, hour, minute, second) + (((at % 1000) + 1000) % 1000)
}
