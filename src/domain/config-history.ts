import type { Awaitable } from '../util/awaitable.ts'
import type { ConfigSettings } from './compiled-config.ts'

/**
 * The cause of a configuration's effect: a start, a saved file, SIGHUP, `tollgate reload`, a changed secret file, a
 * reload or an edit in the console, or a program that embeds the gateway.
 */
export const configHows = ['start', 'file', 'signal', 'command', 'secret', 'console', 'edit', 'program'] as const
export type ConfigHow = (typeof configHows)[number]

export type ConfigCause = {
  readonly how: ConfigHow
  /** The user who made the change in the console. */
  readonly by: string | null
}

/** A file of a configuration without its secrets. The text is null if it is too long. */
export type KeptText = {
  /** Path relative to the folder of the main file. */
  readonly file: string
  readonly text: string | null
}

/** A configuration that took effect, in lists. */
export type ConfigTaken = ConfigCause & {
  /** Counts from 1, without gaps. */
  readonly id: number
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly revision: string
  /** The version of the gateway. */
  readonly version: string
  /** The first differences in meaning from the previous one, one line each. */
  readonly changes: readonly string[]
  /** The total number of these lines. */
  readonly changeCount: number
}

export type StoredConfig = ConfigTaken & {
  /** Fingerprints of settings, files and secrets: equal values mean the same configuration. */
  readonly mark: string
  /** The main file first. */
  readonly files: readonly KeptText[]
  readonly settings: ConfigSettings
}

/** The differences between two configurations that took effect. */
export type ConfigDifference = {
  /** The differences in meaning, one line each. */
  readonly changes: readonly string[]
  readonly files: readonly {
    readonly file: string
    /** False if the text was too long, so that its changed lines are unknown. */
    readonly kept: boolean
    /** The same for `patch -p1`; '' if its lines are unknown. */
    readonly patch: string
    /** Changed lines with some context. Line numbers count from 1. */
    readonly hunks: readonly {
      readonly before: number
      readonly after: number
      readonly lines: readonly { readonly kind: 'same' | 'gone' | 'new'; readonly text: string }[]
    }[]
  }[]
}

/** The newest 500 configurations that took effect, of all gateways on the storage. */
export type ConfigHistory = {
  newest(): Awaitable<Pick<StoredConfig, 'id' | 'mark'> | undefined>
  /** Adds one after `after`, the newest (0 for none). Returns false, and writes nothing, if another was added since. */
  keep(taken: Omit<StoredConfig, 'id'>, after: number): Promise<boolean>
  /** Newest first. */
  list(filter: { readonly limit: number; readonly before?: number }): Promise<readonly ConfigTaken[]>
  find(id: number): Promise<StoredConfig | undefined>
}
