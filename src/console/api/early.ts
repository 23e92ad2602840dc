type Early = { readonly at: number; readonly answer: Promise<Response> }

const pending = new Map<string, Early>()
/** An answer that was not used by then is requested again. */
const keptMs = 30_000

/** Headers of every request to the API. */
export const readHeaders = { accept: 'application/json', 'x-tollgate': '1' } as const

let isBegun = false

/** The page itself begins: from now on no request is sent early. */
export function endEarly(): void {
  isBegun = true
}

/** Whether the page itself has not begun: on a slow line the early script may arrive last. */
export function isEarly(): boolean {
  return !isBegun
}

/** Sends a request before the script that needs its answer has loaded. @returns the answer, for the script */
export function askEarly(url: string, init: RequestInit = {}): Promise<Response> {
  const answer = fetch(url, init)
  // The caller that takes it gets the error.
  answer.catch(() => undefined)
  pending.set(url, { at: performance.now(), answer })
  return answer.then(response => response.clone())
}

/** The answer to an early request, once. */
export function takeEarly(url: string): Promise<Response> | undefined {
  const found = pending.get(url)
  pending.delete(url)
  return found && performance.now() - found.at < keptMs ? found.answer : undefined
}

/** An answer for one user is used for no other. */
export function forgetEarly(): void {
  pending.clear()
}
