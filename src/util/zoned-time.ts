import { wallOf } from './wall-clock.ts'

const dayMs = 86_400_000

/** A time of a wall clock; months from 1. */
export type WallTime = {
  readonly year: number
  readonly month: number
  readonly day: number
  readonly hour?: number
  readonly minute?: number
  readonly second?: number
}

/** The zone of this machine, by its name in the tz database. */
export function localZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone
}

/**
 * The moment of a wall clock time: the first one if the time occurs twice. A time that clocks skip has the offset
 * before the change.
 */
export function momentIn(zone: string, { year, month, day, hour = 0, minute = 0, second = 0 }: WallTime): number {
  const wanted = Date.UTC(year, month - 1, day, hour, minute, second)
  const [before, after] = [-dayMs, dayMs].map(away => wanted - (wallOf(zone, wanted + away) - (wanted + away)))
  const moments = [before, after].filter(at => at !== undefined && wallOf(zone, at) === wanted) as number[]
  return moments.length > 0 ? Math.min(...moments) : (before ?? wanted)
}

/** The day of a moment in a zone. */
export function dayIn(
  zone: string,
  at: number,
): { readonly year: number; readonly month: number; readonly day: number } {
  const wall = new Date(wallOf(zone, at))
  return { year: wall.getUTCFullYear(), month: wall.getUTCMonth() + 1, day: wall.getUTCDate() }
}

/** `2026-11-23T10:04:24+01:00`: the time of a wall clock at a moment, with its distance from UTC. */
export function formatIn(zone: string, at: number): string {
  const wall = wallOf(zone, at)
  const minutes = Math.round((wall - at) / 60_000)
  const two = (count: number): string => String(Math.trunc(count)).padStart(2, '0')
  const away = Math.abs(minutes)
  return `${new Date(wall).toISOString().slice(0, 19)}${minutes < 0 ? '-' : '+'}${two(away / 60)}:${two(away % 60)}`
}
