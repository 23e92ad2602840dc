/** A new seed for a script that searches. */
export const newSeed = (): number => Math.trunc(Math.random() * 1e9)

/**
 * The seed of random cases in the suite: SEED from the environment, `new` for a new one, and otherwise the same in
 * every run. A run of the suite judges a change; the scripts (fuzz, simulate, the crash batteries) search with new
 * seeds.
 */
export const seed = process.env['SEED'] === 'new' ? newSeed() : Number(process.env['SEED'] ?? 20_261_126)

/** Numbers from 0 to below 1, determined by a seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let z = state
    z = Math.imul(z ^ (z >>> 15), z | 1)
    z ^= z + Math.imul(z ^ (z >>> 7), z | 61)
    return ((z ^ (z >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Integers from 0 to below a limit, determined by a seed. */
export function diceOf(seed: number): (below: number) => number {
  let state = seed >>> 0
  return below => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}
