/** A value, or a promise of it. Hot paths return the value itself to avoid a turn of the event loop. */
export type Awaitable<T> = T | Promise<T>

/** Continues with a value: at once if it is available, otherwise when its promise resolves. */
export function andThen<T, R>(
  value: Awaitable<T>,
  proceed: (value: T) => Awaitable<R>,
  failed?: (cause: unknown) => Awaitable<R>,
): Awaitable<R> {
  return isPromise(value) ? value.then(proceed, failed) : proceed(value)
}

/** True if the value is a promise. */
export function isPromise<T>(value: Awaitable<T>): value is Promise<T> {
  return typeof (value as Promise<T> | undefined)?.then === 'function'
}
