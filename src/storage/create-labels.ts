import { LRUCache } from 'lru-cache'
import { type LabelStore, type NewLabel, otherLabels } from '../domain/labels.ts'
import type { Log } from '../plugin-api/index.ts'
import { type Awaitable, andThen, type Clock } from '../util/index.ts'
import { findLabel, seenMs } from './labels.ts'
import type { QueryProgram } from './query.ts'
import type { Writing } from './writing.ts'

/** The number of names in memory, which need no query. Each stays for a minute: another process may have erased it. */
const keptMost = 20_000
const keptMs = 60_000
/** After the limit was reached, no name is added for this long: the writes of an attack would delay others. */
const fullMs = 10_000

type Parts = {
  readonly clock: Clock
  readonly log: Log
  readonly reads: { run<T>(steps: QueryProgram<T>): Awaitable<T> }
  readonly writer: Pick<Writing, 'submit'>
}

/** Names of end users and tags; keeps those in use in memory. */
export function createLabels({ clock, reads, writer, log }: Parts): LabelStore {
  const known = new LRUCache<string, { readonly id: string; readonly until: number }>({ max: keptMost })
  /** By kind and key: when a name may be added again. */
  const fullUntil = new LRUCache<string, number>({ max: keptMost })

  function keep(name: string, id: string): string {
    known.set(name, { id, until: clock.now() + keptMs })
    return id
  }

  function noteSeen(id: string, seenAt: number): void {
    const at = clock.now()
    if (at - seenAt < seenMs) return
    writer
      .submit('noteSeen', { id, at })
      .catch(error => log.warn({ err: error }, 'the last use of a label was not noted'))
  }

  async function add(label: NewLabel, name: string): Promise<string> {
    const full = `${label.kind} ${label.keyId}`
    if ((fullUntil.get(full) ?? 0) > clock.now()) return otherLabels[label.kind]
    const id = await writer.submit('addLabel', { ...label, at: clock.now() })
    if (id !== null) return keep(name, id)
    fullUntil.set(full, clock.now() + fullMs)
    return otherLabels[label.kind]
  }

  return {
    idOf(label): Awaitable<string> {
      const name = `${label.kind} ${label.name}`
      const one = known.get(name)
      if (one && one.until > clock.now()) return one.id
      return andThen(reads.run(findLabel(label.kind, label.name)), found => {
        if (!found) return add(label, name)
        noteSeen(found.id, found.seenAt)
        return keep(name, found.id)
      })
    },
    async erase(kind, name, by) {
      known.delete(`${kind} ${name}`)
      return writer.submit('eraseLabel', { kind, name, by, at: clock.now() })
    },
    prune: (kind, until, limit) => writer.submit('pruneLabels', { kind, until, limit, at: clock.now() }),
  }
}
