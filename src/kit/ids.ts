import { randomBytes } from 'node:crypto'

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
/** What ids may run ahead of the clock, by more than 1,024 in a millisecond; a clock that is further back was set back. */
const aheadMs = 1_000
let lastMs = 0
let counter = 0
let pool = Buffer.alloc(0)
let at = 0

/**
 * A time-ordered id: 10 characters of milliseconds, 2 of a counter within the millisecond, 8 random (40 bits), after
 * `prefix`. Rows keyed by it are appended to their index instead of scattered over it.
 */
export function timeOrderedId(prefix: string, nowMs: number): string {
  if (nowMs > lastMs || nowMs < lastMs - aheadMs) {
    lastMs = nowMs
    counter = 0
  } else {
    counter++
    if (counter > 1023) {
      lastMs++
      counter = 0
    }
  }
  let text = spell(lastMs)
  text += alphabet.charAt(counter >> 5) + alphabet.charAt(counter & 31)
  if (at + 8 > pool.length) {
    pool = randomBytes(4096)
    at = 0
  }
  for (let i = 0; i < 8; i++) text += alphabet.charAt((pool[at++] as number) & 31)
  return prefix + text
}

/** What every id made at `ms` or later sorts at or behind, and every earlier one before. */
export function firstIdAt(prefix: string, ms: number): string {
  return prefix + spell(Math.max(0, Math.floor(ms)))
}

function spell(ms: number): string {
  let rest = ms
  let text = ''
  for (let i = 0; i < 10; i++) {
    text = alphabet.charAt(rest % 32) + text
    rest = Math.floor(rest / 32)
  }
  return text
}
