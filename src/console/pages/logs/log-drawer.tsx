import { useState } from 'preact/hooks'
import { call } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import { useSession } from '../../api/session.ts'
import type { BillingRecord, LogRecord } from '../../api/shapes.ts'
import { Button } from '../../kit/button.tsx'
import { ChargesOf } from '../../kit/charged.tsx'
import { Copy } from '../../kit/copy.tsx'
import { Dialog } from '../../kit/dialog.tsx'
import { Facts } from '../../kit/facts.tsx'
import { FieldError } from '../../kit/field-error.ts'
import { AreaField, Form, SelectField, TextField } from '../../kit/form.tsx'
import { Money } from '../../kit/money.tsx'
import { Loaded } from '../../kit/loaded.tsx'
import { Time } from '../../kit/time.tsx'
import { say } from '../../kit/toast.tsx'
import { amountOf, microsOf } from '../../money.ts'
import { count, duration } from '../../numbers.ts'
import { shownExact } from '../../shown-money.ts'
import { t, tName } from '../../words/index.ts'
import { tOperation } from '../../words/operation.ts'
import { Outcome } from './outcome.tsx'
import { Bill } from './bill.tsx'
import { curlOf } from './curl-of.ts'
import { decidesOn } from './decides.ts'
import { modelText } from './model-text.ts'
import { Attempts, Failure } from './failure.tsx'
import { Waterfall } from './waterfall.tsx'

/** 详情: one request, its cost and the reason. */
export function LogDrawer({
  id,
  onChanged,
  onClose,
}: {
  readonly id: string
  readonly onChanged: () => void
  readonly onClose: () => void
}) {
  const load = useLoad<LogRecord>(`/logs/${encodeURIComponent(id)}`)
  const session = useSession()
  return (
    <Dialog drawer title={t('details')} onClose={onClose}>
      <Loaded of={load}>
        {record => (
          <div class="stack">
            <Verdict of={record} />
            <Failure of={record} />
            <RequestFacts of={record} />
            <Attempts of={record} />
            {chargesOf(record).map(charge => (
              <div key={charge.id} class="stack">
                <Bill of={charge.explained} {...(charge.id !== record.id && { id: charge.id })} />
                <RefundNotes of={charge} />
                <Decide
                  of={charge}
                  decides={decidesOn(record, { may: session.may, name: session.user.name })}
                  onDone={newer => {
                    load.put(newer)
                    onChanged()
                    say(t('saved'))
                  }}
                />
              </div>
            ))}
            <Fields of={record} />
            <Timing of={record} />
            <section class="section">
              <h3>{t('details.again')}</h3>
              <p class="quiet">{t('details.again.text')}</p>
              <div>
                <Copy text={curlOf(record, session.gateway.base_url)} label={t('details.curl')} />
              </div>
            </section>
          </div>
        )}
      </Loaded>
    </Dialog>
  )
}

type Charge = {
  readonly id: string
  readonly billing: BillingRecord
  readonly explained: BillingRecord
  readonly refunds: LogRecord['refunds']
}

/** The charge of a request, and the one for its tokens if its images have a charge of their own. */
function chargesOf({ id, billing, explanation, refunds, use_billing: use, use_refunds }: LogRecord): readonly Charge[] {
  return [
    ...(billing ? [{ id, billing, explained: explanation ?? billing, refunds }] : []),
    ...(use ? [{ id: `${id}.u`, billing: use, explained: use, refunds: use_refunds }] : []),
  ]
}

/** The result of the request on one line: its outcome, its cost and its duration. */
function Verdict({ of: record }: { readonly of: LogRecord }) {
  return (
    <p class="inline verdict">
      <Outcome of={record} />
      <span>{record.billing ? <ChargesOf exact of={record} /> : t('bill.none')}</span>
      <span class="quiet">{duration(record.duration_ms)}</span>
    </p>
  )
}

/** The key by its name. A playground's key belongs to a session, and has no page. */
function KeyLink({ of: { key_id: id, key_name: name } }: { readonly of: LogRecord }) {
  if (id === null) return <>–</>
  if (typeof name !== 'string') return <code>{id}</code>
  return (
    <a class="theirs" href={`/console/tokens/${encodeURIComponent(id)}`} title={id}>
      {name}
    </a>
  )
}

/** The refunds, oldest first: amount, person and reason. */
function RefundNotes({ of: { refunds, billing } }: { readonly of: Charge }) {
  if (!refunds || refunds.length === 0) return null
  return (
    <section class="section" aria-label={t('refund.done')}>
      <h3>{t('refund.done')}</h3>
      {refunds.map((refund, i) => (
        <Facts
          key={i}
          of={[
            [t('amount'), <Money exact amount={refund.amount} currency={billing.currency} />],
            [t('refund.by'), <span class="theirs">{refund.by}</span>],
            [t('time'), <Time at={refund.at} seconds />],
            [t('reason'), <span class="theirs">{refund.reason ?? '–'}</span>],
          ]}
        />
      ))}
    </section>
  )
}

function RequestFacts({ of: record }: { readonly of: LogRecord }) {
  const theirs = (text: string | null | undefined) => (text ? <span class="theirs">{text}</span> : '–')
  const { input_tokens: input, output_tokens: output } = record.usage
  return (
    <section class="section">
      <h3>{t('details.request')}</h3>
      <Facts
        of={[
          [t('request.id'), <code>{record.id}</code>],
          [t('time'), <Time at={record.time} seconds />],
          ...(record.error ? [[t('error'), <code>{record.error}</code>] as const] : []),
          [t('model'), theirs(modelText(record))],
          ...(record.alias ? [[t('model.alias'), theirs(record.alias)] as const] : []),
          [t('operation'), tOperation(record.operation)],
          [t('user'), theirs(record.user)],
          [t('token'), <KeyLink of={record} />],
          [t('group'), record.group],
          [t('upstream'), record.upstream],
          ...(record.cache ? [[t('cache'), <CacheUse of={record} />] as const] : []),
          ...(record.end_user ? [[t('costs.end_user'), theirs(record.end_user)] as const] : []),
          ...(record.tags?.length ? [[t('costs.tag'), theirs(record.tags.join(', '))] as const] : []),
          ...(input === null && output === null
            ? []
            : [[t('details.usage'), `${count(input ?? 0)} → ${count(output ?? 0)}`] as const]),
          [t('details.revision'), <code>{record.config_revision}</code>],
          [t('details.client_id'), theirs(record.client_request_id)],
          ...(record.user_agent ? [[t('agent'), theirs(record.user_agent)] as const] : []),
        ]}
      />
    </section>
  )
}

/** The result of the answer cache, and its savings. */
function CacheUse({ of: { cache, saved, billing } }: { readonly of: LogRecord }) {
  const result = tName('cache', cache ?? '')
  if (saved === null || !billing) return <span>{result}</span>
  return (
    <span>
      {result} · {t('cache.saved')} <Money amount={saved} currency={billing.currency} />
    </span>
  )
}

function Fields({ of: { forwarded, dropped } }: { readonly of: LogRecord }) {
  const tags = (names: readonly string[]) =>
    names.length === 0 ? (
      '–'
    ) : (
      <span class="tags">
        {names.map(name => (
          <code key={name} class="tag theirs">
            {name}
          </code>
        ))}
      </span>
    )
  return (
    <section class="section">
      <h3>{t('details.fields')}</h3>
      <Facts
        of={[
          [t('details.forwarded'), tags(forwarded)],
          [t('details.dropped'), tags(dropped)],
        ]}
      />
    </section>
  )
}

function Timing({ of: record }: { readonly of: LogRecord }) {
  const { timing, time, duration_ms: took } = record
  return (
    <section class="section">
      <h3>{t('details.timing')}</h3>
      <Facts
        of={[
          [t('details.began'), <Time at={timing?.began ?? time} seconds />],
          [t('details.ended'), <Time at={timing?.ended ?? null} seconds />],
          [t('duration'), duration(took)],
        ]}
      />
      <Waterfall of={record} />
    </section>
  )
}

const reasonMin = 3

/** The actions of an administrator on a charge; each requires a reason, which is stored. */
function Decide({
  of: { id, billing },
  decides,
  onDone,
}: {
  readonly of: Charge
  readonly decides: ReturnType<typeof decidesOn>
  readonly onDone: (newer: LogRecord) => void
}) {
  const [open, setOpen] = useState(false)
  if (decides === 'no') return null
  const review = billing.state === 'needs_review'
  const left = amountOf(microsOf(billing.amount) - microsOf(billing.refunded))
  const refundable = billing.state === 'settled' && Number(left) > 0
  if (!review && !refundable) return null
  if (decides === 'own') return <p class="note">{t('problem.own_charge')}</p>
  const word = review ? 'resolve' : 'refund'
  if (!open)
    return (
      <div>
        <Button kind="danger" onClick={() => setOpen(true)}>
          {t(word)}
        </Button>
      </div>
    )
  return (
    <Form
      submit={t(word)}
      kind="danger"
      onCancel={() => setOpen(false)}
      onSubmit={async values => {
        const reason = values.get('reason').trim()
        if (reason.length < reasonMin) throw new FieldError('reason', () => t('reason.short', { min: reasonMin }))
        const amount = values.get('amount').trim()
        const decided = { reason, ...(amount !== '' && { amount }) }
        // If the answer is lost and the form is sent again, nothing is refunded twice.
        const body = review ? { as: values.get('as'), ...decided } : { refunded: billing.refunded, ...decided }
        onDone(await call<LogRecord>(`/logs/${encodeURIComponent(id)}/${word}`, { method: 'POST', body }))
        setOpen(false)
      }}
    >
      <p class="note warn">
        {t(`${word}.text`, { amount: shownExact(review ? billing.amount : left), currency: billing.currency })}
      </p>
      {review && (
        <SelectField
          name="as"
          label={t('resolve.as')}
          options={[
            ['settle', t('resolve.settle')],
            ['void', t('resolve.void')],
          ]}
        />
      )}
      {review && billing.count === 0 && (
        <TextField name="amount" label={t('resolve.amount')} hint={t('resolve.amount.hint')} inputMode="decimal" />
      )}
      {!review && (
        <TextField name="amount" label={t('refund.amount')} hint={t('refund.amount.hint')} inputMode="decimal" />
      )}
      <AreaField name="reason" label={t('reason')} hint={t('reason.hint')} rows={2} />
    </Form>
  )
}
