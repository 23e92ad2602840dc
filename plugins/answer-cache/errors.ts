import { failures, sharedRows } from '../../src/plugin-api/index.ts'

/** The errors of this plugin, with remedies. */
export const errors = {
  insufficient_quota: sharedRows.insufficient_quota,
  storage_unavailable: sharedRows.storage_unavailable,
} as const

export const fail = failures(errors)
