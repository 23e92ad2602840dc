import type { Diagnostic, Family } from '../../src/plugin-api/index.ts'
import type { Section } from './schema.ts'

/** One operation in a section's description, and the relevant settings of its family. */
export type DescribedOperation = {
  readonly operation: string
  readonly section: Section
  readonly family: Family
  /** The client's fields that reach the section; undefined for all. */
  readonly fields: ReadonlySet<string> | undefined
  readonly forwards: (name: string) => boolean
}

/**
 * An error in one operation's description, by its path. A description shared by several operations is wrong if it is
 * wrong for one of them; with `everywhere`, only if it is wrong for all of them.
 */
export type Problem = Diagnostic & { readonly everywhere?: true }

export function problem(code: string, path: Diagnostic['path'], message: string, remedy: string): Problem {
  return { severity: 'error', code, path, message, remedy }
}
