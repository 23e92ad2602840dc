import { useMay } from '../../api/session.ts'
import { ChoiceFilter, FilterBar, PickFilter, TextFilter } from '../../kit/filter-bar.tsx'
import { FilterLine } from '../../kit/filter-line.tsx'
import type { useQuery } from '../../query.ts'
import { t } from '../../words/index.ts'

type QueryState = ReturnType<typeof useQuery>

/** The filters of a statement. A statement of an end user or a tag cannot be split by these. */
export function StatementFilters({
  month,
  query,
  by,
  isNarrowed,
  onPick,
}: {
  readonly month: string
  readonly query: QueryState['query']
  readonly by: string | undefined
  readonly isNarrowed: boolean
  readonly onPick: QueryState['set']
}) {
  const readsAll = useMay('readers')
  return (
    <FilterBar>
      <div class="dates">
        <FilterLine
          label={t('statements.month')}
          type="month"
          value={month}
          onPick={value => onPick({ month: value })}
        />
      </div>
      {readsAll &&
        (['user', 'group'] as const).map(of => (
          <PickFilter
            key={of}
            of={of}
            label={t(of)}
            value={query[of]}
            isFree
            onPick={value => onPick({ [of]: value })}
          />
        ))}
      {(['end_user', 'tag'] as const).map(of => (
        <TextFilter key={of} label={t(`costs.${of}`)} value={query[of]} onPick={value => onPick({ [of]: value })} />
      ))}
      {!isNarrowed && (
        <ChoiceFilter
          label={t('costs.by')}
          value={by}
          of={[
            ['end_user', t('costs.end_user')],
            ['tag', t('costs.tag')],
          ]}
          onPick={value => onPick({ by: value })}
        />
      )}
    </FilterBar>
  )
}
