import { call } from '../../api/call.ts'
import { useLoad } from '../../api/load.ts'
import { useSession } from '../../api/session.ts'
import type { Ceilings, User } from '../../api/shapes.ts'
import { Form, TextField } from '../../kit/form.tsx'
import { t } from '../../words/index.ts'
import { ceilingField } from './ceiling-field.ts'
import { PeriodFields } from '../tokens/period-fields.tsx'
import { changedBudget, SettingFields, readSettings, readWhole } from '../tokens/setting-fields.tsx'

const isOwn = (name: string): boolean => name.startsWith('own_')
const isKeysMax = (name: string): boolean => name === 'keys_max'

/** A user's bounds: for all their keys, for the number of keys, and for each key that they create or change. */
export function CeilingsForm({
  of,
  onDone,
  onClose,
}: {
  readonly of: User
  readonly onDone: () => void
  readonly onClose: () => void
}) {
  const { gateway } = useSession()
  const path = `/users/${encodeURIComponent(of.name)}`
  const { value: now } = useLoad<Ceilings>(`${path}/ceilings`)
  const { budget, limits, models, ips, expires } = of.key_bounds
  return (
    <Form
      submit={t('save')}
      onCancel={onClose}
      fieldOf={ceilingField}
      onSubmit={async values => {
        const keysMax = values.get('keys_max').trim()
        const most = readSettings(values, true)
        const isBound = [most.budget, most.models, most.ips, most.expires].some(one => one !== null)
        const body = {
          ...changedBudget(values, 'own_'),
          ...(values.isChanged(isKeysMax) && {
            keys_max: keysMax === '' ? null : readWhole('keys_max', keysMax, true),
          }),
          ...(values.isChanged(name => !isOwn(name) && !isKeysMax(name)) && {
            key_bounds: isBound || Object.keys(most.limits).length > 0 ? most : null,
          }),
        }
        if (Object.keys(body).length === 0) return onClose()
        await call(path, { method: 'PATCH', body })
        onDone()
      }}
    >
      <h3>{t('ceilings.together')}</h3>
      <div class="row">
        <TextField
          name="own_budget"
          label={`${t('tokens.budget')} (${gateway.currency})`}
          hint={
            now?.budget?.by === 'group'
              ? t('ceilings.budget.group', { amount: `${now.budget.amount} ${now.currency}` })
              : t('ceilings.budget.hint')
          }
          inputMode="decimal"
          value={of.budget ?? ''}
        />
        <PeriodFields prefix="own_" per={of.budget_period} day={of.budget_resets_on} soft={of.budget_soft} />
        <TextField
          name="keys_max"
          label={t('ceilings.keys')}
          hint={
            now?.keys.by === 'group'
              ? t('ceilings.keys.group', { most: now.keys.most ?? '', have: now.keys.have })
              : t('ceilings.keys.hint', { have: now?.keys.have ?? '…' })
          }
          inputMode="numeric"
          value={of.keys_max?.toString() ?? ''}
        />
      </div>
      <h3>{t('ceilings.each')}</h3>
      <p class="quiet">{t('ceilings.each.text')}</p>
      <SettingFields
        isBound
        of={{
          budget: budget?.to.amount ?? null,
          budget_period: budget?.to.per ?? 'total',
          budget_resets_on: budget?.to.resets_on ?? null,
          limits: limits?.to ?? {},
          models: models?.to ?? null,
          ips: ips?.to ?? null,
          expires: expires?.to ?? null,
        }}
      />
    </Form>
  )
}
