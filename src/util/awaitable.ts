/** A value now or later. Hot paths return the value itself so that no turn of the event loop is spent on it. */
export type Awaitable<T> = T | Promise<T>

/** True when the value has to be waited for. */
export function isPromise<T>(value: Awaitable<T>): value is Promise<T> {
  return typeof (value as Promise<T> | undefined)?.then === 'function'
}
