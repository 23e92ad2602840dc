import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError } from '../../api/call.ts'
import type { BillingRecord } from '../../api/shapes.ts'
import { Button } from '../../kit/button.tsx'
import { Problem } from '../../kit/problem.tsx'
import { duration } from '../../numbers.ts'
import { t } from '../../words/index.ts'
import { Bill } from '../logs/bill.tsx'
import { askBill, askGateway, requestId } from './ask-gateway.ts'

type State<Result> = {
  readonly busy: boolean
  readonly id?: string
  readonly result?: Result
  readonly error?: ApiError
  readonly bill?: BillingRecord | undefined
  readonly tookMs?: number
}

type Run<Result> = State<Result> & {
  readonly start: (
    path: string,
    body: object | FormData,
    read: (response: Response, show: (result: Result) => void) => Promise<Result>,
  ) => void
  readonly stop: () => void
}

/** One request at a time, its result, and its bill. */
export function useRun<Result>(): Run<Result> {
  const [state, setState] = useState<State<Result>>({ busy: false })
  const abort = useRef<AbortController>(null)
  useEffect(() => () => abort.current?.abort(), [])
  return {
    ...state,
    stop: () => abort.current?.abort(),
    start(path, body, read) {
      abort.current?.abort()
      const own = new AbortController()
      abort.current = own
      const began = performance.now()
      setState({ busy: true })
      const run = async () => {
        const response = await askGateway(path, body, own.signal)
        const id = requestId(response)
        const result = await read(response, shown => setState({ busy: true, id, result: shown }))
        const tookMs = performance.now() - began
        setState({ busy: true, id, result, tookMs })
        setState({ busy: false, id, result, tookMs, bill: await askBill(id, own.signal) })
      }
      run().catch((error: unknown) => {
        if (own.signal.aborted) setState(before => ({ ...before, busy: false }))
        else
          setState(before => ({
            ...before,
            busy: false,
            error: error instanceof ApiError ? error : new ApiError(0, 'unexpected', String(error)),
          }))
      })
    },
  }
}

/** What came of a request: the result, how long it took, what it cost. */
export function Ran<Result>({
  of,
  children,
}: {
  readonly of: Run<Result>
  readonly children: (result: Result) => ComponentChildren
}) {
  return (
    <div class="card" aria-live="polite" aria-busy={of.busy}>
      <div class="page-head">
        <h2>{t('play.result')}</h2>
        {of.busy && <Button onClick={of.stop}>{t('stop')}</Button>}
      </div>
      {of.busy && of.result === undefined && <p class="waiting">{t('play.running')}</p>}
      {of.error && <Problem error={of.error} />}
      {!of.busy && !of.error && of.result === undefined && <p class="quiet">{t('play.nothing')}</p>}
      {of.result !== undefined && children(of.result)}
      {of.id && of.tookMs !== undefined && (
        <p class="quiet inline">
          {duration(of.tookMs)} <a href={`/console/logs/${encodeURIComponent(of.id)}`}>{t('details')}</a>
        </p>
      )}
      {of.bill && (
        <>
          <h2>{t('bill')}</h2>
          <Bill of={of.bill} />
        </>
      )}
    </div>
  )
}
