import { useModels } from '../../api/models.ts'
import { useSession } from '../../api/session.ts'
import type { Key, Limits } from '../../api/shapes.ts'
import { FieldError } from '../../kit/field-error.ts'
import { TextField, type Values } from '../../kit/form.tsx'
import { t } from '../../words/index.ts'
import { tBounds } from '../../words/bound.ts'
import { dayShown, readDay } from '../../words/period.ts'
import { PeriodFields, periodIn } from './period-fields.tsx'

/** The settings of a key, or of a bound. */
export type Settings = Pick<Key, 'models' | 'limits' | 'budget' | 'ips' | 'expires'> & {
  readonly budget_period: string | null
  readonly budget_resets_on: string | number | null
  /** Absent for a bound, which is never soft. */
  readonly budget_soft?: boolean
}

/** The settings of a key. `within`: bounds to show next to the fields. */
export function SettingFields({
  of,
  within = [],
  isBound = false,
}: {
  readonly of?: Settings | undefined
  readonly within?: readonly Key['bounds'][]
  readonly isBound?: boolean
}) {
  const { gateway } = useSession()
  const models = useModels().map(model => model.name)
  const limit = (name: keyof Limits) => of?.limits?.[name]?.toString() ?? ''
  const bounds = within.flatMap(bounds => tBounds(bounds, gateway.currency))
  const hint = (field: string, otherwise?: string) => {
    const own = bounds.filter(bound => bound.field === field)
    return own.length > 0 ? own.map(({ most, by }) => t('bound.by', { most, by })).join(' · ') : otherwise
  }
  return (
    <>
      <TextField
        name="models"
        label={t('tokens.models')}
        hint={hint('models', t('tokens.models.hint'))}
        value={of?.models?.join(', ') ?? ''}
        list={models}
      />
      <div class="row">
        <TextField
          name="budget"
          label={`${t('tokens.budget')} (${gateway.currency})`}
          hint={hint('budget', t('tokens.budget.hint'))}
          inputMode="decimal"
          value={of?.budget ?? ''}
        />
        <PeriodFields
          per={of?.budget_period ?? 'total'}
          day={of?.budget_resets_on}
          soft={isBound ? undefined : (of?.budget_soft ?? false)}
        />
        <TextField
          name="expires"
          label={t('tokens.expires')}
          hint={hint('expires')}
          type="datetime-local"
          empty={t('never')}
          value={localMoment(of?.expires)}
        />
      </div>
      <details>
        <summary>{t('tokens.more')}</summary>
        <div class="form">
          {hint('limits') && <p class="hint">{hint('limits')}</p>}
          <div class="row">
            {limitNames.map(name => (
              <TextField key={name} name={name} label={t(`limit.${name}`)} inputMode="numeric" value={limit(name)} />
            ))}
          </div>
          <TextField
            name="ips"
            label={t('tokens.ips')}
            hint={hint('ips', t('tokens.ips.hint'))}
            value={of?.ips?.join(', ') ?? ''}
          />
        </div>
      </details>
    </>
  )
}

const limitNames = ['rpm', 'tpm', 'concurrency'] as const

/** The fields' values in the API's format. @throws FieldError */
export function readSettings(values: Values, isBound = false) {
  const listed = (name: string) => {
    const parts = values
      .get(name)
      .trim()
      .split(/[\s,，]+/)
      .filter(part => part !== '')
    return parts.length === 0 ? null : parts
  }
  return {
    models: listed('models'),
    ips: listed('ips'),
    budget: readAmount('budget', values),
    ...periodIn(values, { hasSoft: !isBound }),
    expires: readMoment(values.get('expires').trim()),
    limits: readLimits(values),
  }
}

/** The result of `readSettings` for the fields as first shown. */
export function settingsShown({
  models,
  ips,
  budget,
  budget_period,
  budget_resets_on,
  budget_soft,
  expires,
  limits,
}: Settings) {
  return {
    models,
    ips,
    budget,
    budget_period: budget_period ?? 'total',
    budget_resets_on: readDay(budget_period ?? '', dayShown(budget_resets_on)),
    budget_soft: budget_soft ?? false,
    expires: readMoment(localMoment(expires)),
    limits: Object.fromEntries(limitNames.flatMap(name => (limits?.[name] ? [[name, limits[name]]] : []))),
  }
}

/** A moment in the browser's time zone; null for none. */
function readMoment(text: string): string | null {
  return text === '' ? null : new Date(text).toISOString()
}

/** The limits with a value. `prefix`: the beginning of the fields' names. @throws FieldError */
export function readLimits(values: Values, prefix = ''): Limits {
  return Object.fromEntries(
    limitNames.flatMap(name => {
      const text = values.get(prefix + name).trim()
      return text === '' ? [] : [[name, readWhole(prefix + name, text)]]
    }),
  )
}

/** A typed amount; null for none. @throws FieldError */
export function readAmount(name: string, values: Values): string | null {
  const text = values.get(name).trim()
  if (!/^(?:\d{1,9}(?:\.\d{1,6})?)?$/.test(text)) throw new FieldError(name, () => t('tokens.budget.wrong'))
  return text || null
}

/** The changed settings of a budget, in the API's format: someone else may have changed others. @throws FieldError */
export function changedBudget(values: Values, prefix = '') {
  const isChanged = (...names: readonly string[]) => values.isChanged(one => names.some(name => one === prefix + name))
  const { budget_soft, ...period } = periodIn(values, { prefix, hasSoft: true })
  return {
    ...(isChanged('budget') && { budget: readAmount(`${prefix}budget`, values) }),
    ...(isChanged('budget_period', 'budget_resets_on') && period),
    ...(isChanged('budget_soft') && { budget_soft }),
  }
}

/** @throws FieldError */
export function readWhole(name: string, text: string, mayBeNone = false): number {
  if (!(mayBeNone ? /^\d{1,6}$/ : /^[1-9]\d{0,8}$/).test(text)) throw new FieldError(name, () => t('whole'))
  return Number(text)
}

/** A moment in the format of a time field. */
function localMoment(moment: string | null | undefined): string {
  if (!moment) return ''
  const at = new Date(moment)
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
