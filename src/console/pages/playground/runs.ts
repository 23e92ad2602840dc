import { signal } from '@preact/signals'
import { ApiError } from '../../api/call.ts'
import type { LogRecord } from '../../api/shapes.ts'
import { askGateway, findRecord, type Mark } from './ask-gateway.ts'

/** A request, and the function that reads its answer. */
export type Question<Result> = {
  readonly path: string
  readonly body: object | FormData
  readonly read: (response: Response, show: (result: Result) => void) => Promise<Result>
}

export type Money = { readonly amount: string; readonly currency: string }

type State<Result> = {
  readonly model: string
  readonly busy: boolean
  /** From `performance.now()`. */
  readonly began: number
  /** The maximum cost, if it was quoted. */
  readonly atMost?: Money | undefined
  readonly result?: Result
  readonly error?: ApiError
  readonly tookMs?: number
  /** The user stopped it; its cost is known after its upstream has ended too. */
  readonly stopped?: boolean
  /** Undefined until it is known; null if it is unreadable. */
  readonly record?: LogRecord | null
  readonly again: () => void
  readonly stop: () => void
}

export type Run<Result> = Partial<State<Result>> & {
  readonly start: (model: string, question: Question<Result>, atMost?: Money) => void
}

// Requests are independent of pages: a running one, which is paid for, continues while the user views other pages, and
// is shown again where it was started.
const runs = signal<{ readonly [place: string]: State<unknown> }>({})

/** Warns about work that would be lost if the page were closed. */
function hold(event: BeforeUnloadEvent): void {
  event.preventDefault()
}

function put(place: string, state: State<unknown>): void {
  runs.value = { ...runs.value, [place]: state }
  removeEventListener('beforeunload', hold)
  if (isAnyBusy()) addEventListener('beforeunload', hold)
}

export function isAnyBusy(): boolean {
  return Object.values(runs.value).some(({ busy }) => busy)
}

/** Drops the requests of another user. Running ones are charged to that user, and end by themselves. */
export function forgetRuns(): void {
  runs.value = {}
  removeEventListener('beforeunload', hold)
}

/** The request of a form, which has one at a time. */
export function runAt<Result>(place: string): Run<Result> {
  const state = runs.value[place] as State<Result> | undefined
  return { ...state, start: (model, question, atMost) => start(place, model, question, atMost) }
}

function start<Result>(place: string, model: string, question: Question<Result>, atMost?: Money): void {
  // A click may come before the button is drawn as busy.
  if (runs.value[place]?.busy) return
  const own = new AbortController()
  const began = performance.now()
  let mark: Mark | undefined
  let state: State<Result> = {
    model,
    began,
    atMost,
    busy: true,
    stop: () => own.abort(),
    again: () => start(place, model, question, atMost),
  }
  put(place, state)
  // Whether another request has not replaced it meanwhile.
  const isMine = (): boolean => runs.value[place] === state
  const change = (more: Partial<State<Result>>): void => {
    if (!isMine()) return
    state = { ...state, ...more }
    put(place, state)
  }
  const run = async (): Promise<void> => {
    const { path, body, read } = question
    const response = await askGateway({ path, body, signal: own.signal, onMark: made => (mark = made) })
    const result = await read(response, shown => change({ result: shown }))
    change({ busy: false, result, tookMs: performance.now() - began })
  }
  const end = async (): Promise<void> => {
    // A request without valid authentication has no row.
    const record = mark && state.error?.status !== 401 ? await findRecord(mark, isMine) : undefined
    change({ record: record ?? null })
  }
  run()
    .catch((error: unknown) => {
      const tookMs = performance.now() - began
      if (own.signal.aborted) return change({ busy: false, stopped: true, tookMs })
      const apiError = error instanceof ApiError ? error : new ApiError(0, 'unexpected', String(error))
      change({ busy: false, error: apiError, tookMs })
    })
    .then(end)
    .catch(() => undefined)
}
