type Early = { readonly at: number; readonly answer: Promise<Response> }

const asked = new Map<string, Early>()
/** What nobody has taken by then is asked anew. */
const keptMs = 30_000

/** What every question to the interface has. */
export const readHeaders = { accept: 'application/json', 'x-tollgate': '1' } as const

let isBegun = false

/** The page itself begins: from here on nothing is early, and what it shows is its own. */
export function endEarly(): void {
  isBegun = true
}

/** Whether the page itself has not begun: on a slow line the script that asks early may come last. */
export function isEarly(): boolean {
  return !isBegun
}

/** Asks for what will be needed before what needs it is there. @returns the answer, for whoever goes on from it */
export function askEarly(url: string, init: RequestInit = {}): Promise<Response> {
  const answer = fetch(url, init)
  // Whoever takes it is told.
  answer.catch(() => undefined)
  asked.set(url, { at: performance.now(), answer })
  return answer.then(response => response.clone())
}

/** The answer to what was asked early, once. */
export function takeEarly(url: string): Promise<Response> | undefined {
  const found = asked.get(url)
  asked.delete(url)
  return found && performance.now() - found.at < keptMs ? found.answer : undefined
}

/** What was asked for one person is for nobody else. */
export function forgetEarly(): void {
  asked.clear()
}
