import type { Finding } from '../config/index.ts'
import type { ConfigFiles } from '../domain/index.ts'

/** What came of reading the configuration again: all of it is in use, or nothing of it. */
export type ReloadResult =
  | { readonly ok: true; readonly revision: string; readonly changes: readonly string[] }
  | {
      readonly ok: false
      readonly findings: readonly Finding[]
      /** The files that the refused one names. */
      readonly files?: ConfigFiles
    }
