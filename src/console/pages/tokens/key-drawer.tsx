import { useState } from 'preact/hooks'
import { call } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import { useMay, useSession } from '../../api/session.ts'
import type { Key, KeyWithSecret, Limits } from '../../api/shapes.ts'
import { count } from '../../numbers.ts'
import { Button } from '../../kit/button.tsx'
import { Dialog } from '../../kit/dialog.tsx'
import { Facts } from '../../kit/facts.tsx'
import { Form, SelectField } from '../../kit/form.tsx'
import { Loaded } from '../../kit/loaded.tsx'
import { Money } from '../../kit/money.tsx'
import { faultText } from '../../kit/problem.tsx'
import { Status } from '../../kit/status.tsx'
import { Time } from '../../kit/time.tsx'
import { say } from '../../kit/toast.tsx'
import { tBounds } from '../../words/bound.ts'
import { periodText } from '../../words/period.ts'
import { t } from '../../words/index.ts'
import { EditKey } from './edit-key.tsx'
import { keyStatus } from './key-status.ts'

type Asking = 'edit' | 'rotate' | 'revoke' | null

/** One key: its settings and all actions. */
export function KeyDrawer({
  id,
  onChanged,
  onMade,
  onClose,
}: {
  readonly id: string
  readonly onChanged: () => void
  readonly onMade: (made: KeyWithSecret) => void
  readonly onClose: () => void
}) {
  const path = `/keys/${encodeURIComponent(id)}`
  const load = useLoad<Key>(path)
  const makes = useMay('keys')
  const [asking, setAsking] = useState<Asking>(null)
  const took = (key: Key) => {
    load.put(key)
    setAsking(null)
    onChanged()
    say(t('saved'))
  }
  const turn = async (status: 'active' | 'disabled') => {
    try {
      took(await call<Key>(path, { method: 'PATCH', body: { status } }))
    } catch (error) {
      say(faultText(error), 'bad')
    }
  }
  return (
    <Dialog drawer title={load.value ? <span class="theirs">{load.value.name}</span> : t('token')} onClose={onClose}>
      <Loaded of={load}>
        {key => (
          <div class="stack">
            <KeyFacts of={key} />
            {makes && key.status !== 'revoked' && asking === null && (
              <div class="actions">
                <Button onClick={() => setAsking('edit')}>{t('edit')}</Button>
                <Button onClick={() => turn(key.status === 'active' ? 'disabled' : 'active')}>
                  {t(key.status === 'active' ? 'disable' : 'enable')}
                </Button>
                <Button onClick={() => setAsking('rotate')}>{t('rotate')}</Button>
                <Button kind="danger" onClick={() => setAsking('revoke')}>
                  {t('revoke')}
                </Button>
              </div>
            )}
            {asking === 'edit' && (
              <EditKey
                of={key}
                onCancel={() => setAsking(null)}
                onSave={async body => took(await call<Key>(path, { method: 'PATCH', body }))}
              />
            )}
            {asking === 'rotate' && (
              <RotateKey
                onCancel={() => setAsking(null)}
                onRotate={async overlap_seconds => {
                  onMade(await call<KeyWithSecret>(`${path}/rotate`, { method: 'POST', body: { overlap_seconds } }))
                  load.reload()
                  setAsking(null)
                }}
              />
            )}
            {asking === 'revoke' && (
              <Form
                submit={t('revoke')}
                kind="danger"
                onCancel={() => setAsking(null)}
                onSubmit={async () => {
                  await call(path, { method: 'DELETE' })
                  say(t('revoked'))
                  onChanged()
                  onClose()
                }}
              >
                <p class="note bad">{t('revoke.text', { name: key.name })}</p>
              </Form>
            )}
            <p>
              <a href={`/console/logs?key=${encodeURIComponent(key.id)}`}>{t('tokens.logs')}</a>
            </p>
          </div>
        )}
      </Loaded>
    </Dialog>
  )
}

function KeyFacts({ of: key }: { readonly of: Key }) {
  return (
    <Facts
      of={[
        [t('status'), <Status name={keyStatus(key)} />],
        [t('tokens.hint'), <code>{key.hint}</code>],
        ['ID', <code>{key.id}</code>],
        [t('user'), <span class="theirs">{key.user}</span>],
        [t('group'), key.own_group ? key.group : `${key.group} (${t('tokens.group.own')})`],
        [
          t('tokens.models'),
          <>
            {key.models?.join(', ') ?? t('all')}
            {key.models_barred.length > 0 && (
              <p class="note bad">
                {t('tokens.models.barred', { models: key.models_barred.join(', '), group: key.group })}
              </p>
            )}
          </>,
        ],
        [t('limits'), limitText(key.limits) || '–'],
        [t('limits.group'), limitText(key.group_limits) || t('unlimited')],
        [
          t('tokens.budget'),
          key.budget === null ? (
            t('unlimited')
          ) : (
            <>
              <Money amount={key.budget_used} /> / <Money amount={key.budget} currency={key.currency} />{' '}
              <span class="quiet">
                {periodText({ per: key.budget_period, resets_on: key.budget_resets_on })}
                {key.budget_soft && ` · ${t('budgets.soft')}`}
              </span>
            </>
          ),
        ],
        [t('tokens.spent'), <Money amount={key.spent} currency={key.currency} />],
        [t('tokens.held'), <Money amount={key.held} currency={key.currency} />],
        [t('tokens.ips'), key.ips?.join(', ') ?? t('all')],
        [t('tokens.expires'), key.expires ? <Time at={key.expires} /> : t('never')],
        [t('tokens.bounds'), <Bounds of={key.bounds} />],
        [t('tokens.old'), key.old_secret_until ? <Time at={key.old_secret_until} /> : '–'],
        [t('tokens.last'), <Time at={key.last_used} />],
        [t('created'), <Time at={key.created} />],
      ]}
    />
  )
}

/** The bounds from administrators, which the holder may lower but not raise. */
function Bounds({ of }: { readonly of: Key['bounds'] }) {
  const set = tBounds(of, useSession().gateway.currency)
  if (set.length === 0) return <>–</>
  return (
    <div class="notes">
      {set.map(({ field, name, most, by }) => (
        <span key={field}>{t('tokens.bound', { name, most, by })}</span>
      ))}
    </div>
  )
}

export function limitText(limits: Limits | null | undefined): string {
  return (['rpm', 'tpm', 'concurrency'] as const)
    .flatMap(name => (limits?.[name] ? [`${t(`limit.${name}`)} ${count(limits[name])}`] : []))
    .join(' · ')
}

function RotateKey({
  onCancel,
  onRotate,
}: {
  readonly onCancel: () => void
  readonly onRotate: (overlapSeconds: number) => Promise<void>
}) {
  return (
    <Form submit={t('rotate')} onCancel={onCancel} onSubmit={values => onRotate(Number(values.get('overlap_seconds')))}>
      <SelectField
        name="overlap_seconds"
        label={t('rotate.overlap')}
        hint={t('rotate.hint')}
        value="3600"
        options={[
          ['0', t('rotate.now')],
          ['3600', t('rotate.hour')],
          ['86400', t('rotate.day')],
          ['604800', t('rotate.week')],
        ]}
      />
    </Form>
  )
}
