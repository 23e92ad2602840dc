import { signal } from '@preact/signals'
import { useSession } from '../../../api/session.ts'
import { isBelow, type Path, type Staged } from './changes.ts'

// What is gathered stays while the page is open, whichever page is looked at meanwhile. It is one person's.
const gathered = signal<{ readonly owner: string; readonly changes: readonly Staged[] }>({ owner: '', changes: [] })

/** The changes that are gathered, and what changes them. */
export function useDraft() {
  const owner = useSession().user.name
  const changes = gathered.value.owner === owner ? gathered.value.changes : none
  const put = (next: readonly Staged[]): void => void (gathered.value = { owner, changes: next })
  return {
    changes,
    /** Puts what is wanted of an entry in the place of what was. */
    stage: (entry: Path, wanted: readonly Staged[]) =>
      put([...changes.filter(({ path }) => !isBelow(path, entry)), ...wanted]),
    drop: (one: Staged) => put(changes.filter(other => other !== one)),
    clear: () => put([]),
  }
}

const none: readonly Staged[] = []
