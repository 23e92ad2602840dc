import { useState } from 'preact/hooks'
import { SelectField, type Values } from '../../kit/form.tsx'
import { t } from '../../words/index.ts'
import { dayChoices, dayShown, periodChoices, readDay } from '../../words/period.ts'

/**
 * The period of a budget, the day on which a week or month begins, and the effect of a spent budget (`soft`; not shown
 * if undefined). `prefix` is the beginning of the fields' names.
 */
export function PeriodFields({
  prefix = '',
  per: given,
  day,
  soft,
}: {
  readonly prefix?: string
  readonly per: string
  readonly day?: string | number | null | undefined
  readonly soft?: boolean | undefined
}) {
  const [per, setPer] = useState(given)
  const days = dayChoices(per)
  return (
    <>
      <SelectField
        name={`${prefix}budget_period`}
        label={t('tokens.period')}
        value={per}
        options={periodChoices(given)}
        onInput={setPer}
      />
      {days.length > 0 && (
        <SelectField
          key={per}
          name={`${prefix}budget_resets_on`}
          label={t('tokens.resets')}
          value={per === given ? dayShown(day) : ''}
          options={days}
        />
      )}
      {soft !== undefined && (
        <SelectField
          name={`${prefix}budget_soft`}
          label={t('tokens.when_spent')}
          value={String(soft)}
          options={[
            ['false', t('tokens.when_spent.refuse')],
            ['true', t('tokens.when_spent.alert')],
          ]}
        />
      )}
    </>
  )
}

/** The values of the fields in the API's format. */
export function periodIn(
  values: Values,
  { prefix = '', hasSoft }: { readonly prefix?: string; readonly hasSoft: boolean },
) {
  const per = values.get(`${prefix}budget_period`)
  return {
    budget_period: per,
    budget_resets_on: readDay(per, values.get(`${prefix}budget_resets_on`)),
    ...(hasSoft && { budget_soft: values.get(`${prefix}budget_soft`) === 'true' }),
  }
}
