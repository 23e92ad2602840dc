import { useState } from 'preact/hooks'
import { call, queryText } from '../../api/call.ts'
import { usePoll } from '../../api/poll.ts'
import { useMay } from '../../api/session.ts'
import type { KeyTrial, Upstream, UpstreamKey, UpstreamList } from '../../api/shapes.ts'
import { Button } from '../../kit/button.tsx'
import { Dialog } from '../../kit/dialog.tsx'
import { Form, SelectField, TextField } from '../../kit/form.tsx'
import { Loaded } from '../../kit/loaded.tsx'
import { faultText } from '../../kit/problem.tsx'
import { Stale } from '../../kit/stale.tsx'
import { Status } from '../../kit/status.tsx'
import { Table } from '../../kit/table.tsx'
import { Time } from '../../kit/time.tsx'
import { say } from '../../kit/toast.tsx'
import { count, duration } from '../../numbers.ts'
import { t, tName } from '../../words/index.ts'
import { periodText } from '../../words/period.ts'

type Row = { readonly upstream: Upstream; readonly key: UpstreamKey | undefined }

const everyMs = 10_000

/** The durations of a suspension; empty lasts until the key is resumed. */
const spans = ['', '3600', '14400', '86400'] as const

/** The upstreams and their keys, with the reasons why some are not in use, and the possible actions. */
export function Upstreams() {
  const load = usePoll<UpstreamList>('/upstreams', everyMs)
  const changes = useMay('admin')
  const [suspending, setSuspending] = useState<Row | null>(null)
  const took = (text: string, tone?: 'bad') => {
    load.reload()
    say(text, tone)
  }
  return (
    <>
      <Stale of={load} />
      <Loaded of={load}>
        {({ upstreams, currency }) => {
          const rows = upstreams.flatMap((upstream): readonly Row[] =>
            upstream.keys.length === 0 ? [{ upstream, key: undefined }] : upstream.keys.map(key => ({ upstream, key })),
          )
          return (
            <>
              {upstreams.map(
                ({ name, keys_asked }) =>
                  keys_asked === 0 && (
                    <p key={name} class="note bad">
                      {t('system.keys.none', { upstream: name })}
                    </p>
                  ),
              )}
              <div class="sheet">
                <Table
                  label={t('system.upstreams')}
                  rows={rows}
                  rowKey={({ upstream, key }) => `${upstream.name}/${key?.name ?? ''}`}
                  columns={[
                    { head: t('upstream'), cell: row => <NameOf row={row} /> },
                    { head: t('system.key'), sparse: true, cell: ({ key }) => key && <KeyName of={key} /> },
                    { head: t('status'), cell: row => <StateOf row={row} /> },
                    { head: t('system.key.why'), wide: true, sparse: true, cell: ({ key }) => key && whyNot(key) },
                    {
                      head: t('system.key.hour'),
                      sparse: true,
                      wide: true,
                      cell: ({ key }) => key && latelyText(key),
                    },
                    {
                      head: t('system.key.spent'),
                      sparse: true,
                      cell: ({ key }) =>
                        key?.budget &&
                        `${key.budget.spent} / ${key.budget.amount} ${currency} (${periodText(key.budget)})`,
                    },
                    {
                      head: t('system.key.actions'),
                      sparse: true,
                      cell: row =>
                        changes && row.key && <Actions row={row} took={took} onSuspend={() => setSuspending(row)} />,
                    },
                  ]}
                />
              </div>
              {suspending && (
                <Suspend
                  of={suspending}
                  onClose={() => setSuspending(null)}
                  onDone={() => {
                    setSuspending(null)
                    took(t('saved'))
                  }}
                />
              )}
            </>
          )
        }}
      </Loaded>
    </>
  )
}

/** The name of an upstream, once for all its keys, with its failures. */
function NameOf({ row: { upstream, key } }: { readonly row: Row }) {
  if (key !== upstream.keys[0]) return <>{upstream.name}</>
  const failures = queryText({ range: 'today', result: 'unsuccessful', upstream: upstream.name })
  return (
    <div>
      {upstream.name}
      <br />
      <a href={`/console/logs${failures}`}>{t('logs.failures')}</a>
    </div>
  )
}

function KeyName({ of: { name, hint } }: { readonly of: UpstreamKey }) {
  return (
    <span class="inline">
      {name} {hint !== '' && <code class="quiet">{hint}</code>}
    </span>
  )
}

function StateOf({ row: { upstream, key } }: { readonly row: Row }) {
  return (
    <span class="inline">
      {key && <Status name={key.state === 'active' && !key.asked ? 'not_asked' : key.state} />}
      {(!key || !upstream.healthy) && <Status name={upstream.healthy ? 'healthy' : 'unhealthy'} />}
      {upstream.resting_ms > 0 && (
        <span class="quiet">{t('system.resting', { time: duration(upstream.resting_ms) })}</span>
      )}
      {upstream.simulated && <Status name="simulated" />}
    </span>
  )
}

/** The reason why a key is not in use, and its end; empty for a key in use. */
function whyNot({ reason, code, note, since, until, resting }: UpstreamKey) {
  if (reason === null)
    return resting.length === 0
      ? null
      : resting.map(({ model, code: reported }) => `${model}${t('colon')}${reported ?? ''}`).join(t('edit.and'))
  return (
    <div>
      {tName('key_reason', reason)}
      {t('colon')}
      <span class="theirs">{code ?? note ?? '–'}</span>
      <br />
      <span class="quiet">
        {t('system.key.since')} <Time at={since} />
        {until !== null && (
          <>
            {' · '}
            {t(reason === 'invalid' || reason === 'no_credit' ? 'system.key.tried' : 'system.key.until')}{' '}
            <Time at={until} />
          </>
        )}
      </span>
    </div>
  )
}

/** The outcomes of the last hour's requests: `answered 20, invalid 1`. */
function latelyText({ lately }: UpstreamKey): string {
  const outcomes = Object.entries(lately).filter(([, times]) => times > 0)
  return outcomes.map(([outcome, times]) => `${tName('key_outcome', outcome)} ${count(times)}`).join(' · ') || '–'
}

function pathOf({ upstream, key }: Row, what: string): string {
  return `/upstreams/${encodeURIComponent(upstream.name)}/keys/${encodeURIComponent(key?.name ?? '')}/${what}`
}

function Actions({
  row,
  took,
  onSuspend,
}: {
  readonly row: Row
  readonly took: (text: string, tone?: 'bad') => void
  readonly onSuspend: () => void
}) {
  const [busy, setBusy] = useState(false)
  const run = async (work: () => Promise<void>) => {
    setBusy(true)
    try {
      await work()
    } catch (error) {
      took(faultText(error), 'bad')
    }
    setBusy(false)
  }
  const test = async () => {
    const { result, answer, cost, currency } = await call<KeyTrial>(pathOf(row, 'test'), { method: 'POST' })
    const words = t(`system.key.test.${result}`, { answer, cost: `${cost} ${currency}` })
    took(words, result === 'bad' ? 'bad' : undefined)
  }
  const resume = async () => {
    await call(pathOf(row, 'resume'), { method: 'POST' })
    took(t('saved'))
  }
  const name = row.key?.name ?? ''
  const label = (what: string): string => `${what}${t('colon')}${row.upstream.name}/${name}`
  const isAway = row.key?.state !== 'active'
  return (
    <span class="actions">
      <Button busy={busy} aria-label={label(t('system.key.test'))} onClick={() => run(test)}>
        {t('system.key.test')}
      </Button>
      {isAway && (
        <Button busy={busy} aria-label={label(t('system.key.resume'))} onClick={() => run(resume)}>
          {t('system.key.resume')}
        </Button>
      )}
      {row.key?.reason !== 'operator' && (
        <Button busy={busy} aria-label={label(t('system.key.suspend'))} onClick={onSuspend}>
          {t('system.key.suspend')}
        </Button>
      )}
    </span>
  )
}

function Suspend({
  of,
  onDone,
  onClose,
}: {
  readonly of: Row
  readonly onDone: () => void
  readonly onClose: () => void
}) {
  const others = of.upstream.keys.filter(key => key.asked && key.name !== of.key?.name)
  return (
    <Dialog
      title={`${t('system.key.suspend')}${t('colon')}${of.upstream.name}/${of.key?.name ?? ''}`}
      onClose={onClose}
    >
      <Form
        submit={t('system.key.suspend')}
        kind="danger"
        onCancel={onClose}
        onSubmit={async values => {
          const span = values.get('for_seconds')
          const body = { reason: values.get('reason').trim(), ...(span !== '' && { for_seconds: Number(span) }) }
          await call(pathOf(of, 'suspend'), { method: 'POST', body })
          onDone()
        }}
      >
        {others.length === 0 && <p class="note bad">{t('system.keys.last', { upstream: of.upstream.name })}</p>}
        <TextField name="reason" label={t('reason')} />
        <SelectField
          name="for_seconds"
          label={t('system.key.for')}
          options={spans.map(
            span => [span, t(span === '' ? 'system.key.for.ever' : `system.key.for.${span}`)] as const,
          )}
        />
      </Form>
    </Dialog>
  )
}
