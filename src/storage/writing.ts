import type { Change, Given, Gives } from './ops.ts'

/** The interface of a writer. */
export type Writing = {
  /** Resolves after the commit. @throws StorageError `storage_unavailable` if it is not known to have happened. */
  submit<C extends Change>(change: C, given: Given<C>): Promise<Gives<C>>
  /** Reports that something was put into the log queue or the charge queue. */
  touch(): void
  /** Resolves when everything received so far is durable. */
  flush(): Promise<void>
  /** False if commits fail. */
  healthy(): boolean
  /** The reason; undefined while commits succeed, and if it is unknown. */
  trouble(): string | undefined
  /** Sets the callback for whenever commits in doubt can be repeated. */
  onRecovered(call: () => void): void
}
