import type { ConfigFinding } from './parts.ts'

/** A finding in machine-readable form. */
export function findingRecord({ severity, code, message, remedy, line, col, path }: ConfigFinding) {
  return { severity, code, message, remedy: remedy ?? null, line, col, path }
}
