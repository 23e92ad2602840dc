import type { Generator } from './bodies.ts'
import type { Reader } from './readers.ts'

/** The allowed cost factor when the size doubles: 2, plus the effect of caches and the garbage collector. */
export const ratioMax = 2.6
/** A reader at memory speed slows down with the cache sizes, not because of its own work. */
const memorySpeed = 1_000
/** How a time is measured, how long at least, because shorter times are noise, and how often for each size, in turns. */
type Watch = { readonly ms: () => number; readonly shortestMs: number; readonly pairs: number }
/** Cheap, and exact if nothing else runs. */
const wall: Watch = { ms: () => performance.now(), shortestMs: 0.5, pairs: 2 }
/** Time of this thread only, so that other work on the machine adds nothing; exact to the kernel's tick of 4 ms. */
const thread: Watch = { ms: threadMs, shortestMs: 60, pairs: 4 }

/** Times below this count as equal. */
const unseenMs = 0.005

/** A reader's cost at one size, compared with half of it. */
export type Growth = {
  readonly reader: string
  readonly kind: string
  readonly bytes: number
  /** The cost factor when the size doubles, up to `bytes`, from the fastest of alternating runs. */
  readonly ratio: number
  readonly megabytesPerSecond: number
}

/**
 * Doubles a size for a reader several times. For each size the fastest run counts: other work on the machine only adds
 * time, and over several doublings adds less.
 */
async function measureGrowth(
  reader: Reader,
  kind: string,
  size: { readonly bytes: number; readonly doublings: number },
  watch: Watch,
): Promise<Growth> {
  const { bytes, doublings } = size
  const make = reader.kinds[kind] as Generator
  const half = make(bytes / 2 ** doublings)
  const whole = make(bytes)
  const halfTimes = await timesOf(reader, half, watch)
  const wholeTimes = await timesOf(reader, whole, watch)
  const halves: number[] = []
  const wholes: number[] = []
  for (let i = 0; i < watch.pairs; i++) {
    halves.push(await costMs(reader, half, halfTimes, watch))
    wholes.push(await costMs(reader, whole, wholeTimes, watch))
  }
  const less = Math.max(unseenMs, Math.min(...halves) / halfTimes)
  const more = Math.max(unseenMs, Math.min(...wholes) / wholeTimes)
  // Relative to bytes: units are whole, so one text is not an exact multiple of the other.
  const ratio = 2 * (more / less / (whole.length / half.length)) ** (1 / doublings)
  return { reader: reader.name, kind, bytes: whole.length, ratio, megabytesPerSecond: whole.length / 1e3 / more }
}

/**
 * Repeats a measurement, at larger sizes too, to rule out the machine or a single step (a full cache, one slice more):
 * quadratic growth shows up every time.
 */
export async function settleGrowth(reader: Reader, kind: string, bytes: number): Promise<Growth> {
  let least = await measureGrowth(reader, kind, { bytes, doublings: 1 }, wall)
  for (let tries = 1; tries <= 4 && !isBounded(least); tries++) {
    // Some readers cost less per byte while all data fits into a cache: 16 times the size is past that step.
    const size = Math.min(bytes * (tries === 1 ? 4 : 16), reader.bytesMax ?? Number.POSITIVE_INFINITY)
    const next = await measureGrowth(reader, kind, { bytes: size, doublings: 3 }, thread)
    if (next.ratio < least.ratio) least = next
  }
  return least
}

/** Whether the cost grows no faster than the size. */
export function isBounded({ ratio, megabytesPerSecond }: Growth): boolean {
  return ratio <= ratioMax || megabytesPerSecond > memorySpeed
}

/** How often the work is repeated, so that both sizes are measured for about the same time. */
async function timesOf(reader: Reader, bytes: Buffer, { shortestMs }: Watch): Promise<number> {
  return Math.max(1, Math.ceil(shortestMs / (await costMs(reader, bytes, 1, wall))))
}

async function costMs(reader: Reader, bytes: Buffer, times: number, { ms }: Watch): Promise<number> {
  const began = ms()
  for (let i = 0; i < times; i++) await reader.read(bytes)
  return Math.max(0.001, ms() - began)
}

function threadMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1e3
}

export function line({ reader, kind, bytes, ratio, megabytesPerSecond }: Growth): string {
  const size = bytes < 1e6 ? `${Math.round(bytes / 1024)} KiB` : `${Math.round(bytes / 1024 / 1024)} MiB`
  return `${reader.padEnd(24)} ${kind.padEnd(28)} ${size.padStart(8)}  × ${ratio.toFixed(2)}  ${Math.round(megabytesPerSecond)} MB/s`
}
