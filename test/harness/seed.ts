/** A new seed for a script that searches. */
export const newSeed = (): number => Math.trunc(Math.random() * 1e9)

/**
 * The seed of random cases in the suite: SEED from the environment, `new` for a new one, or else the same in every run. A run of
 * the suite judges a change; the scripts (fuzz, simulate, the crash batteries) search with new seeds.
 */
export const seed = process.env['SEED'] === 'new' ? newSeed() : Number(process.env['SEED'] ?? 20_261_126)
