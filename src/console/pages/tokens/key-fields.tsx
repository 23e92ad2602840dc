import { useModels } from '../../api/models.ts'
import { useMay, useSession } from '../../api/session.ts'
import type { Key, Limits } from '../../api/shapes.ts'
import { FieldError, SelectField, TextField, type Values } from '../../kit/form.tsx'
import { t } from '../../words/index.ts'

/** What is chosen for a key, when it is made and later. */
export function KeyFields({ of, groups }: { readonly of?: Key; readonly groups: readonly string[] }) {
  const { gateway } = useSession()
  const admin = useMay('admin')
  const models = useModels().map(model => model.name)
  const limit = (name: keyof Limits) => of?.limits?.[name]?.toString() ?? ''
  return (
    <>
      <TextField name="name" label={t('tokens.name')} value={of?.name ?? ''} />
      {admin && (
        <div class="row">
          {!of && <TextField name="user" label={t('user')} hint={t('tokens.user.hint')} />}
          <SelectField
            name="group"
            label={t('group')}
            value={of?.own_group ?? ''}
            options={[['', t('tokens.group.own')], ...groups.map(name => [name, name] as const)]}
          />
        </div>
      )}
      <TextField
        name="models"
        label={t('tokens.models')}
        hint={t('tokens.models.hint')}
        value={of?.models?.join(', ') ?? ''}
        list={models}
      />
      <div class="row">
        <TextField
          name="budget"
          label={`${t('tokens.budget')} (${gateway.currency})`}
          hint={t('tokens.budget.hint')}
          inputMode="decimal"
          value={of?.budget ?? ''}
        />
        <SelectField
          name="budget_period"
          label={t('tokens.period')}
          value={of?.budget_period ?? 'total'}
          options={(['total', 'day', 'month'] as const).map(one => [one, t(`period.${one}`)] as const)}
        />
        <TextField name="expires" label={t('tokens.expires')} type="datetime-local" value={localMoment(of?.expires)} />
      </div>
      <details>
        <summary>{t('tokens.more')}</summary>
        <div class="form">
          <div class="row">
            <TextField name="rpm" label={t('limit.rpm')} inputMode="numeric" value={limit('rpm')} />
            <TextField name="tpm" label={t('limit.tpm')} inputMode="numeric" value={limit('tpm')} />
            <TextField
              name="concurrency"
              label={t('limit.concurrency')}
              inputMode="numeric"
              value={limit('concurrency')}
            />
          </div>
          <TextField name="ips" label={t('tokens.ips')} hint={t('tokens.ips.hint')} value={of?.ips?.join(', ') ?? ''} />
        </div>
      </details>
    </>
  )
}

/** The form's values as the interface takes them. @throws FieldError */
export function readKeyFields(values: Values): { readonly [name: string]: unknown } {
  const text = (name: string) => values.get(name).trim()
  const listed = (name: string) => {
    const parts = text(name)
      .split(/[\s,，]+/)
      .filter(part => part !== '')
    return parts.length === 0 ? null : parts
  }
  if (text('name') === '') throw new FieldError('name', t('required'))
  if (!/^(?:\d{1,9}(?:\.\d{1,6})?)?$/.test(text('budget'))) throw new FieldError('budget', t('tokens.budget.wrong'))
  const expires = text('expires')
  return {
    name: text('name'),
    ...(values.has('group') && { group: text('group') || null }),
    ...(text('user') !== '' && { user: text('user') }),
    models: listed('models'),
    ips: listed('ips'),
    budget: text('budget') || null,
    budget_period: text('budget_period'),
    expires: expires === '' ? null : new Date(expires).toISOString(),
    limits: Object.fromEntries(
      ['rpm', 'tpm', 'concurrency'].flatMap(name => (text(name) === '' ? [] : [[name, readWhole(name, text(name))]])),
    ),
  }
}

function readWhole(name: string, text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new FieldError(name, t('whole'))
  return Number(text)
}

/** A moment as a field of the browser's own time wants it. */
function localMoment(moment: string | null | undefined): string {
  if (!moment) return ''
  const at = new Date(moment)
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
