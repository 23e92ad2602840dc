import { signal } from '@preact/signals'
import { useSession } from '../../../api/session.ts'
import { isBelow, type Path, type Staged } from './changes.ts'

// Collected changes remain while the page is open, even if the user views other pages. They belong to one user.
const gathered = signal<{ readonly owner: string; readonly changes: readonly Staged[] }>({ owner: '', changes: [] })

/** The collected changes, and functions that change them. */
export function useDraft() {
  const owner = useSession().user.name
  const changes = gathered.value.owner === owner ? gathered.value.changes : none
  const put = (next: readonly Staged[]): void => void (gathered.value = { owner, changes: next })
  return {
    changes,
    /** Replaces the collected changes of an entry. */
    stage: (entry: Path, wanted: readonly Staged[]) =>
      put([...changes.filter(({ path }) => !isBelow(path, entry)), ...wanted]),
    /** Replaces the collected changes of several entries, with one change for each. */
    stageAll: (wanted: readonly Staged[]) =>
      put([...changes.filter(({ path }) => !wanted.some(one => isBelow(path, one.path))), ...wanted]),
    drop: (one: Staged) => put(changes.filter(other => other !== one)),
    clear: () => put([]),
  }
}

const none: readonly Staged[] = []
