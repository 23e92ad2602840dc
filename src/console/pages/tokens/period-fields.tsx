import { SelectField, type Values } from '../../kit/form.tsx'
import { t } from '../../words/index.ts'
import { dayChoices, dayShown, periodChoices, readDay } from '../../words/period.ts'

/** The period of a budget, and the day on which it begins. `prefix` comes before the names of the fields. */
export function PeriodFields({
  prefix = '',
  per,
  day,
}: {
  readonly prefix?: string
  readonly per: string
  readonly day?: string | number | null | undefined
}) {
  return (
    <>
      <SelectField
        name={`${prefix}budget_period`}
        label={t('tokens.period')}
        value={per}
        options={periodChoices(per)}
      />
      <SelectField
        name={`${prefix}budget_resets_on`}
        label={t('tokens.resets')}
        hint={t('tokens.resets.hint')}
        value={dayShown(day)}
        options={dayChoices()}
      />
    </>
  )
}

/** What the fields say, as the API expects it. */
export function periodIn(values: Values, prefix = '') {
  const per = values.get(`${prefix}budget_period`)
  return { budget_period: per, budget_resets_on: readDay(per, values.get(`${prefix}budget_resets_on`)) }
}
