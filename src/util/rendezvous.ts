import { hash } from 'node:crypto'

const bits = 48

/**
 * A number over 0 and below 1 that a seed always draws for a name: what draws by such numbers chooses the same of several names
 * for one seed, and another only while that one is left out (rendezvous hashing).
 */
export function drawFor(seed: string, name: string): number {
  const drawn = hash('sha256', `${seed}\n${name}`, 'buffer').readUIntBE(0, bits / 8)
  return (drawn + 0.5) / 2 ** bits
}
