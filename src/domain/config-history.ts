import type { Awaitable } from '../util/awaitable.ts'
import type { ConfigSettings } from './compiled-config.ts'

/**
 * How a configuration came to take effect: with a start, as its file was saved, by SIGHUP, by `tollgate reload`, as a file of
 * a secret changed, by a reload or an edit in the console, or by a program that the gateway is part of.
 */
export const configHows = ['start', 'file', 'signal', 'command', 'secret', 'console', 'edit', 'program'] as const
export type ConfigHow = (typeof configHows)[number]

export type ConfigCause = {
  readonly how: ConfigHow
  /** The user who made the change in the console. */
  readonly by: string | null
}

/** A file of a configuration without what is secret in it; a text that is too long is not kept. */
export type KeptText = {
  /** From the folder of the main file. */
  readonly file: string
  readonly text: string | null
}

/** A configuration that took effect, as it is listed. */
export type ConfigTaken = ConfigCause & {
  /** Counts from 1, without gaps. */
  readonly id: number
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly revision: string
  /** Of the gateway. */
  readonly version: string
  /** What it means, against the one before it, a line each: the first of them. */
  readonly changes: readonly string[]
  /** How many there are. */
  readonly changeCount: number
}

export type StoredConfig = ConfigTaken & {
  /** Of all that is kept, and whether secrets are others: two alike are the same configuration. */
  readonly mark: string
  /** The main file first. */
  readonly files: readonly KeptText[]
  readonly settings: ConfigSettings
}

/** What is different between two configurations that took effect. */
export type ConfigDifference = {
  /** What it means, a line each. */
  readonly changes: readonly string[]
  readonly files: readonly {
    readonly file: string
    /** False for one whose text was too long: then nothing is known of its lines. */
    readonly kept: boolean
    /** The same for `patch -p1`; '' if its lines are unknown. */
    readonly patch: string
    /** Lines that changed, with some around them. Line numbers count from 1. */
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
  /** Adds one after `after`, the newest (0 for none). False: another was added since, and nothing was written. */
  keep(taken: Omit<StoredConfig, 'id'>, after: number): Promise<boolean>
  /** Newest first. */
  list(filter: { readonly limit: number; readonly before?: number }): Promise<readonly ConfigTaken[]>
  find(id: number): Promise<StoredConfig | undefined>
}
