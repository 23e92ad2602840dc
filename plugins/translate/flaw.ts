import type { Diagnostic, Family } from '../../src/plugin-api/index.ts'
import type { Section } from './schema.ts'

/** One operation as a section describes it, and the relevant settings of its family. */
export type Spoken = {
  readonly operation: string
  readonly section: Section
  readonly family: Family
  /** Which of the caller's fields reach the section; undefined for all. */
  readonly fields: ReadonlySet<string> | undefined
  readonly forwards: (name: string) => boolean
}

/**
 * Something that one operation's description cannot mean, by its path in it. What a description shared by several says is
 * wrong where it is wrong for one of them; with `everywhere`, where none of them can make use of it.
 */
export type Flaw = Diagnostic & { readonly everywhere?: true }

export function problem(code: string, path: Diagnostic['path'], message: string, remedy: string): Flaw {
  return { severity: 'error', code, path, message, remedy }
}
