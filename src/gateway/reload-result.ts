import type { Finding } from '../config/index.ts'
import type { ConfigFiles } from '../domain/index.ts'

/** The result of reading the configuration again: all of it is active, or nothing has changed. */
export type ReloadResult =
  | { readonly ok: true; readonly revision: string; readonly changes: readonly string[] }
  | {
      readonly ok: false
      readonly findings: readonly Finding[]
      /** The files that the refused configuration refers to. */
      readonly files?: ConfigFiles
    }
