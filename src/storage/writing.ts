import type { Change, Given, Gives } from './ops.ts'

/** Commits. */
export type Writing = {
  /** Resolves after the commit. @throws StorageError `storage_unavailable` if it is not known to have happened. */
  submit<C extends Change>(change: C, given: Given<C>): Promise<Gives<C>>
  /** Something was put into the log queue or the charge queue. */
  touch(): void
  /** Resolves when everything received so far is durable. */
  flush(): Promise<void>
  /** False if commits fail. */
  healthy(): boolean
  /** Why; undefined while they do not, and if it is unknown. */
  trouble(): string | undefined
  /** Called whenever commits in doubt can be repeated. */
  onRecovered(call: () => void): void
}
