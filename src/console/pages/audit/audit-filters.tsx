import { useKeyPicks, useUserPicks } from '../../api/pickers.ts'
import { DaysFilter, FilterBar, PickFilter, SearchFilter } from '../../kit/filter-bar.tsx'
import { t, tName, wordsOf } from '../../words/index.ts'

const names = ['actor', 'action', 'subject', 'since', 'until'] as const

/** Filters by author, action and time. Any name is valid, such as that of a deleted user or key, or of a program. */
export function AuditFilters({
  query,
  set,
  keyNames,
}: {
  readonly query: { readonly [name: string]: string | undefined }
  readonly set: (change: { readonly [name: string]: string | null }) => void
  /** The names of the keys in the list, by id. */
  readonly keyNames: { readonly [id: string]: string }
}) {
  const { actor, action, subject, since = '', until = '' } = query
  const users = useUserPicks()
  const keys = useKeyPicks()
  const pick = (name: (typeof names)[number]) => (value: string) => set({ [name]: value })
  return (
    <FilterBar
      onClear={
        names.some(name => query[name]) && (() => set(Object.fromEntries(names.map(name => [name, null] as const))))
      }
    >
      <DaysFilter from={since} to={until} onFrom={pick('since')} onTo={pick('until')} />
      <PickFilter of="user" label={t('audit.actor')} value={actor} isFree onPick={pick('actor')} />
      <SearchFilter
        label={t('audit.action')}
        value={action}
        options={wordsOf('action').map(value => ({ value, text: tName('action', value) }))}
        isFree
        onPick={pick('action')}
      />
      <SearchFilter
        label={t('audit.subject')}
        value={subject}
        options={[
          ...users.options.map(one => ({ ...one, note: t('user') })),
          ...Object.entries(keyNames)
            .filter(([id]) => id === subject && keys.options.every(({ value }) => value !== id))
            .map(([value, text]) => ({ value, text, note: t('token') })),
          ...keys.options.map(one => ({ ...one, note: t('token') })),
        ]}
        isFree
        onSearch={text => {
          users.search(text)
          keys.search(text)
        }}
        onPick={pick('subject')}
      />
    </FilterBar>
  )
}
