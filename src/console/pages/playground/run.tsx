import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Button } from '../../kit/button.tsx'
import { Money } from '../../kit/money.tsx'
import { Problem } from '../../kit/problem.tsx'
import { duration } from '../../numbers.ts'
import { t } from '../../words/index.ts'
import { Bill } from '../logs/bill.tsx'
import type { Run } from './runs.ts'

/** Requests of a form next to each other, each with its own result and bill. */
export function Results<Result>({
  of,
  children,
}: {
  readonly of: readonly Run<Result>[]
  readonly children: (result: Result, isOver: boolean) => ComponentChildren
}) {
  return (
    <div class={of.length > 1 ? 'pair' : 'stack'}>
      {of.map((run, i) => (
        <Ran key={i} of={run} showsModel={of.length > 1}>
          {children}
        </Ran>
      ))}
    </div>
  )
}

/** The outcome of a request: the result, its duration, its cost. */
function Ran<Result>({
  of,
  children,
}: {
  readonly of: Run<Result>
  readonly showsModel: boolean
  readonly children: (result: Result, isOver: boolean) => ComponentChildren
}) {
  const { busy = false, model, result, error, stopped, record, tookMs } = of
  const [isConfirming, setConfirming] = useState(false)
  useEffect(() => setConfirming(false), [busy])
  const isOver = !busy && tookMs !== undefined
  return (
    <section class="card" aria-label={model ? `${t('play.result')} ${model}` : t('play.result')} aria-busy={busy}>
      <div class="page-head">
        <h2>
          {t('play.result')}
          {model && <span class="quiet theirs"> {model}</span>}
        </h2>
        {busy && !isConfirming && <Button onClick={() => setConfirming(true)}>{t('stop')}</Button>}
        {isOver && of.again && <Button onClick={of.again}>{t('play.again')}</Button>}
      </div>
      {busy && isConfirming && <StopNote of={of} onKeep={() => setConfirming(false)} />}
      {busy && <Elapsed since={of.began ?? 0} isStill={result === undefined} />}
      <div class="stack" aria-live="polite">
        {error && <Problem error={error} />}
        {model === undefined && <p class="quiet">{t('play.nothing')}</p>}
        {stopped && <p class="note">{t('play.stopped', { after: duration(tookMs) })}</p>}
        {result !== undefined && children(result, isOver && error === undefined)}
        {isOver && record === undefined && !error && <p class="waiting">{t('play.billing')}</p>}
        {record && (
          <>
            <p class="quiet inline">
              {duration(tookMs)} <a href={`/console/logs/${encodeURIComponent(record.id)}`}>{t('details')}</a>
            </p>
            {record.billing ? (
              <>
                <h2>{t('bill')}</h2>
                <Bill of={record.billing} />
              </>
            ) : (
              <p class="note">{t('bill.none')}</p>
            )}
          </>
        )}
        {isOver && record === null && !error && <p class="note warn">{t('play.bill_unknown')}</p>}
      </div>
    </section>
  )
}

/** Explains in advance what stopping means for the bill. */
function StopNote<Result>({ of, onKeep }: { readonly of: Run<Result>; readonly onKeep: () => void }) {
  return (
    <div class="note warn" role="alert">
      <p>
        {t('play.stop.text')}{' '}
        {of.atMost && (
          <>
            {t('quote.at_most')} <Money exact amount={of.atMost.amount} currency={of.atMost.currency} />
          </>
        )}
      </p>
      <div class="actions">
        <Button kind="danger" onClick={() => of.stop?.()}>
          {t('play.stop.now')}
        </Button>
        <Button onClick={onKeep}>{t('play.stop.keep')}</Button>
      </div>
    </div>
  )
}

const tickMs = 1_000

/** The elapsed time, because a picture may take a minute, and the user should see progress. */
function Elapsed({ since, isStill }: { readonly since: number; readonly isStill: boolean }) {
  const [now, setNow] = useState(performance.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(performance.now()), tickMs)
    return () => clearInterval(timer)
  }, [since])
  const seconds = Math.max(Math.floor((now - since) / tickMs), 0)
  return (
    <p class="waiting">
      {isStill && <span>{t('play.running')}</span>}
      <span class="quiet" role="timer" aria-live="off">
        {t('play.elapsed', { seconds })}
      </span>
    </p>
  )
}
