/** A value now or later. Hot paths return the value itself so that no turn of the event loop is spent on it. */
export type Awaitable<T> = T | Promise<T>

/** Continues with a value: at once where it is there, otherwise when it comes. */
export function andThen<T, R>(
  value: Awaitable<T>,
  proceed: (value: T) => Awaitable<R>,
  failed?: (cause: unknown) => Awaitable<R>,
): Awaitable<R> {
  return isPromise(value) ? value.then(proceed, failed) : proceed(value)
}

/** True when the value has to be waited for. */
export function isPromise<T>(value: Awaitable<T>): value is Promise<T> {
  return typeof (value as Promise<T> | undefined)?.then === 'function'
}
