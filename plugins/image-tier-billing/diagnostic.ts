import type { Diagnostic } from '../../src/plugin-api/index.ts'

type Path = Diagnostic['path']

/** An error, at its path in the section. */
export function problem(code: string, message: string, path: Path, remedy: string): Diagnostic {
  return { severity: 'error', code, message, path, remedy }
}

/** A note, at its path in the section. */
export function note(code: string, message: string, path: Path, remedy?: string): Diagnostic {
  return { severity: 'note', code, message, path, ...(remedy !== undefined && { remedy }) }
}
