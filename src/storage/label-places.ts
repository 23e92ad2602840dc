import type { LabelKind } from '../domain/labels.ts'

/** Keys with counted places. */
const keysMost = 20_000
/** A process adds this share of the free names before it counts again: even ten processes add no more than are free. */
const share = 10

type Places = { readonly most: number; left: number }

/**
 * How many names a writer may add before it counts the stored ones again, of each kind and of each key: a count reads
 * up to a million rows, and must not run for every new end user.
 */
export class LabelPlaces {
  readonly #places = new Map<string, Places>()

  /** Takes one place. False if the names must be counted. */
  take(kind: LabelKind, keyId: string | undefined, most: number): boolean {
    const places = this.#places.get(nameOf(kind, keyId))
    if (places?.most !== most || places.left < 1) return false
    places.left--
    return true
  }

  /** Records the number of stored names. */
  counted(kind: LabelKind, keyId: string | undefined, most: number, stored: number): void {
    const left = Math.max(0, Math.floor((most - stored) / share) - 1)
    this.#places.set(nameOf(kind, keyId), { most, left })
    // The names of the oldest key are counted again if it adds one.
    if (this.#places.size > keysMost) for (const oldest of this.#places.keys()) return void this.#places.delete(oldest)
  }
}

function nameOf(kind: LabelKind, keyId = ''): string {
  return `${kind} ${keyId}`
}
