import type { Change, Given, Gives } from './ops.ts'

/** Commits. */
export type Writing = {
  /** Resolves after the commit. @throws StorageError `storage_unavailable` when it is not known to have happened. */
  submit<C extends Change>(change: C, given: Given<C>): Promise<Gives<C>>
  /** Something was put into the log queue or the charge queue. */
  touch(): void
  /** Resolves when everything handed in so far is durable. */
  flush(): Promise<void>
  /** False when commits fail. */
  healthy(): boolean
  /** Why; undefined while they do not, and where it is not known. */
  trouble(): string | undefined
  /** Called whenever commits that were in doubt can be made up for. */
  onRecovered(call: () => void): void
}
