import { escapeUnprintable } from '../util/unprintable.ts'
import { StorageError } from './errors.ts'

/**
 * Refuses names with characters that a terminal would interpret instead of showing them, from any source: an interface,
 * a command or a program. Absent names pass. @throws StorageError `name_unprintable`
 */
export function refuseUnprintable(...names: readonly (string | null | undefined)[]): void {
  for (const name of names) {
    const shown = escapeUnprintable(name ?? '')
    if (shown !== (name ?? '')) throw new StorageError('name_unprintable', { name: shown })
  }
}
