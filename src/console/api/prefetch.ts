type Early = { readonly at: number; readonly answer: Promise<Response> }

const pending = new Map<string, Early>()
/** After this time an unused answer is requested again. */
const keptMs = 30_000

/** Headers of every request to the API. */
export const readHeaders = { accept: 'application/json', 'x-tollgate': '1' } as const

let isBegun = false

/** Marks the start of the page itself: from now on, no request is sent early. */
export function endPrefetch(): void {
  isBegun = true
}

/** Whether the page itself has not started: on a slow connection the early script may arrive last. */
export function mayPrefetch(): boolean {
  return !isBegun
}

/** Sends a request before the script that uses its answer has loaded. @returns the answer, for the script */
export function prefetch(url: string, init: RequestInit = {}): Promise<Response> {
  const answer = fetch(url, init)
  // The caller of `takePrefetched` gets the error.
  answer.catch(() => undefined)
  pending.set(url, { at: performance.now(), answer })
  return answer.then(response => response.clone())
}

/** The answer to an early request; each answer is returned once. */
export function takePrefetched(url: string): Promise<Response> | undefined {
  const found = pending.get(url)
  pending.delete(url)
  return found && performance.now() - found.at < keptMs ? found.answer : undefined
}

/** Drops all answers, so that no user gets another user's. */
export function forgetPrefetched(): void {
  pending.clear()
}
