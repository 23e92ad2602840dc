import { hash } from 'node:crypto'

const bits = 48

/**
 * Returns a number between 0 and 1 for a seed and a name, always the same (rendezvous hashing). A choice by these
 * numbers is stable: for one seed, it changes only while the chosen name is excluded.
 */
export function drawFor(seed: string, name: string): number {
  const drawn = hash('sha256', `${seed}\n${name}`, 'buffer').readUIntBE(0, bits / 8)
  return (drawn + 0.5) / 2 ** bits
}
