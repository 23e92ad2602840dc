import type { Counts, Json, UnitName, Usage, UsageFacts } from '../domain/index.ts'
import { readCount, readMember } from './read-members.ts'

type Members = { readonly [name: string]: Json | undefined }

/** Collects the counts of one report, under the names of `src/domain/usage.ts`. Parents include their children. */
export class UsageReport {
  readonly #counts: { [unit in UnitName]?: number } = {}
  readonly #facts: { -readonly [name in keyof UsageFacts]: string } = {}
  #cost: string | undefined
  #unread: string[] | undefined

  get counts(): Counts {
    return this.#counts
  }

  /** Sets a reported count; null changes nothing. */
  set(unit: UnitName, count: number | null): void {
    if (count !== null) this.#counts[unit] = count
  }

  /** Adds to a count; null and 0 change nothing, so that a count of zero stays absent. */
  add(unit: UnitName, count: number | null): void {
    if (count !== null && count > 0) this.#counts[unit] = (this.#counts[unit] ?? 0) + count
  }

  /** Sets a fact that prices may depend on; ignores values other than a non-empty string. */
  fact(name: keyof UsageFacts, value: Json | undefined): void {
    if (typeof value === 'string' && value !== '') this.#facts[name] = value.slice(0, factCharsMax).toLowerCase()
  }

  /** Sets the amount that the upstream itself charges. */
  cost(value: Json | undefined): void {
    // Avoids the exponent: 0.00000015 in full.
    const text = typeof value === 'number' && value >= 0 && value < 1e9 ? value.toFixed(12) : value
    if (typeof text === 'string' && /^\d/.test(text)) this.#cost = text
  }

  /** Records members with a number above 0 that are not in `known`. */
  unread(members: Json | undefined, known: ReadonlySet<string>): void {
    if (typeof members !== 'object' || members === null || Array.isArray(members)) return
    const named = members as Members
    for (const name in named) {
      if (known.has(name)) continue
      const value = named[name]
      if (typeof value === 'number' && value > 0) (this.#unread ??= []).push(name.slice(0, factCharsMax))
    }
  }

  /**
   * Moves tokens that two children both count into the cached child: an upstream reports cached audio as cached and as
   * audio. Without a split, assumes the smallest possible overlap.
   */
  separateCached(): void {
    const counts = this.#counts
    const { input, cached_input: cached = 0 } = counts
    if (input === undefined || cached === 0) return
    for (const [unit, both] of overlaps) {
      const whole = counts[unit] ?? 0
      if (whole === 0) continue
      const others = cached + (counts.cache_write ?? 0) + restOf(counts, unit)
      const shared = Math.min(counts[both] ?? Math.max(0, others + whole - input), whole, cached)
      if (shared === 0) continue
      counts[both] = shared
      if (whole === shared) delete counts[unit]
      else counts[unit] = whole - shared
    }
  }

  /** Null if no count was reported. */
  result(): Usage | null {
    for (const _ in this.#counts)
      return {
        counts: this.#counts,
        facts: this.#facts,
        ...(this.#cost !== undefined && { cost: this.#cost }),
        ...(this.#unread && { unread: this.#unread }),
      }
    return null
  }
}

const factCharsMax = 64
const overlaps = [
  ['input_audio', 'cached_input_audio'],
  ['input_image', 'cached_input_image'],
  ['input_video', 'cached_input_video'],
] as const

/** Input of other kinds than the one that may overlap with cached input. */
function restOf(counts: Counts, unit: UnitName): number {
  let rest = 0
  for (const one of ['input_audio', 'input_image', 'input_video'] as const) if (one !== unit) rest += counts[one] ?? 0
  return rest
}

/** The first reported count under one of the names. */
export function firstCount(value: Json | undefined, ...names: readonly string[]): number | null {
  for (const name of names) {
    const count = readCount(value, name)
    if (count !== null) return count
  }
  return null
}

/** The first existing member. */
export function firstMember(value: Json | undefined, ...names: readonly string[]): Json | undefined {
  for (const name of names) {
    const member = readMember(value, name)
    if (member !== undefined && member !== null) return member
  }
  return undefined
}
