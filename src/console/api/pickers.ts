import { useEffect, useState } from 'preact/hooks'
import type { Option } from '../kit/combobox.tsx'
import { queryText } from './call.ts'
import { useGroups } from './groups.ts'
import { useLoad } from './load.ts'
import { useModels } from './models.ts'
import { useMay } from './session.ts'
import type { KeyList, UserList } from './shapes.ts'

/** Kinds of resources in pickers: everything with a name that the user may see. */
export type Pickable = 'model' | 'user' | 'key' | 'group'

export type Picks = {
  readonly options: readonly Option[]
  /** Searches by a text in the names, because there may be more than one page has. */
  readonly search: (text: string) => void
}

const picksMost = 50

/** The query for a page of names that contain a text. */
function useSearch(): { readonly query: string; readonly search: Picks['search'] } {
  const [text, setText] = useState('')
  const [search, setSearch] = useState('')
  useEffect(() => {
    // Waits for a pause, because otherwise every letter would send a request.
    const timer = setTimeout(() => setSearch(text), 200)
    return () => clearTimeout(timer)
  }, [text])
  return { query: queryText({ limit: picksMost, search }), search: setText }
}

/** Keys whose names contain a text, with their users. */
export function useKeyPicks(): Picks {
  const readsAll = useMay('readers')
  const { query, search } = useSearch()
  const keys = useLoad<KeyList>(`/keys${query}`).last?.keys ?? []
  return {
    options: keys.map(({ id, name, user }) => ({ value: id, text: name, ...(readsAll && { note: user }) })),
    search,
  }
}

/** Users whose names contain a text, with their groups; none for those who see only themselves. */
export function useUserPicks(): Picks {
  const readsAll = useMay('readers')
  const { query, search } = useSearch()
  const users = useLoad<UserList>(readsAll ? `/users${query}` : null).last?.users ?? []
  return { options: users.map(({ name, group }) => ({ value: name, text: name, note: group })), search }
}

export function useModelPicks(): readonly Option[] {
  return useModels().map(({ name }) => ({ value: name, text: name }))
}

export function useGroupPicks(): readonly Option[] {
  return useGroups().map(name => ({ value: name, text: name }))
}
