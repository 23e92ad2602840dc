import { useLoad } from './load.ts'
import { useMay } from './session.ts'
import type { GroupList } from './shapes.ts'

/** Names of the groups; empty for users who may not choose among them. */
export function useGroups(): readonly string[] {
  const admin = useMay('admin')
  const load = useLoad<GroupList>(admin ? '/groups' : null)
  return load.value?.groups.map(({ name }) => name) ?? []
}
