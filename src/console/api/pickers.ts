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
  /** Searches keys by a text in their names, because there may be more keys than one page has. */
  readonly search: (text: string) => void
}

const keysMost = 50

/** Keys whose names contain a text, with their users. `wanted`: false loads nothing. */
export function useKeyPicks(wanted = true): Picks {
  const readsAll = useMay('readers')
  const [text, setText] = useState('')
  const [search, setSearch] = useState('')
  useEffect(() => {
    // Waits for a pause, because otherwise every letter would send a request.
    const timer = setTimeout(() => setSearch(text), 200)
    return () => clearTimeout(timer)
  }, [text])
  const load = useLoad<KeyList>(wanted ? `/keys${queryText({ limit: keysMost, search })}` : null)
  const keys = load.last?.keys ?? []
  return {
    options: keys.map(({ id, name, user }) => ({ value: id, text: name, ...(readsAll && { note: user }) })),
    search: setText,
  }
}

export function useUserPicks(wanted = true): readonly Option[] {
  const readsAll = useMay('readers')
  const load = useLoad<UserList>(wanted && readsAll ? '/users' : null)
  return (load.value?.users ?? []).map(({ name, group }) => ({ value: name, text: name, note: group }))
}

export function useModelPicks(): readonly Option[] {
  return useModels().map(({ name }) => ({ value: name, text: name }))
}

export function useGroupPicks(): readonly Option[] {
  return useGroups().map(name => ({ value: name, text: name }))
}
