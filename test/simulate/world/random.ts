import { seeded } from '../../harness/seed.ts'

/** Random numbers determined by a seed and a name: streams with different names are independent. */
export class Random {
  /** At least 0, less than 1. */
  readonly unit: () => number

  constructor(seed: number, stream: string) {
    let mixed = seed >>> 0
    for (let i = 0; i < stream.length; i++) mixed = Math.imul(mixed ^ stream.charCodeAt(i), 0x01000193) >>> 0
    this.unit = seeded(mixed)
    this.unit()
    this.unit()
  }

  /** At least 0, less than `n`. */
  int(n: number): number {
    return Math.floor(this.unit() * n)
  }

  chance(p: number): boolean {
    return this.unit() < p
  }

  pick<T>(choices: readonly T[]): T {
    if (choices.length === 0) throw new Error('there is nothing to choose from')
    return choices[this.int(choices.length)] as T
  }

  /** A weighted choice. */
  weigh<T extends string>(weights: { readonly [choice in T]: number }): T {
    const entries = Object.entries(weights) as [T, number][]
    let left = this.unit() * entries.reduce((sum, [, weight]) => sum + weight, 0)
    for (const [choice, weight] of entries) if ((left -= weight) < 0) return choice
    return (entries[0] as [T, number])[0]
  }

  bytes(size: number): Buffer {
    const bytes = Buffer.alloc(size)
    for (let i = 0; i < size; i++) bytes[i] = this.int(256)
    return bytes
  }
}
