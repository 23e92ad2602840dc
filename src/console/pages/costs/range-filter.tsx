import { Choices } from '../../kit/choices.tsx'
import { DaysFilter } from '../../kit/filter-bar.tsx'
import { t } from '../../words/index.ts'
import { type Preset, presets, type Range } from './range.ts'

type Change = { readonly [name: string]: string | null }

/** The days of the costs: a named range, or a first and a last day. `usual`: the range of an address without one. */
export function RangeFilter({
  range: { preset, from, to },
  usual,
  set,
  hrefOf,
}: {
  readonly range: Pick<Range, 'preset' | 'from' | 'to'>
  readonly usual: Preset
  readonly set: (change: Change) => void
  readonly hrefOf: (change: Change) => string
}) {
  return (
    <>
      <Choices
        label={t('costs.range')}
        of={presets.map(one => [one, t(`costs.${one}`)] as const)}
        chosen={preset}
        hrefOf={range => hrefOf({ range: range === usual ? null : range, from: null, to: null })}
      />
      <DaysFilter
        from={from}
        to={to}
        onFrom={day => day !== '' && set({ range: null, from: day, to: day > to ? day : to })}
        onTo={day => day !== '' && set({ range: null, from: day < from ? day : from, to: day })}
      />
    </>
  )
}
