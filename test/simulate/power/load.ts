import { createKey } from '../../../src/index.ts'
import { systemClock } from '../../../src/util/index.ts'
import type { Storage } from '../../../src/domain/index.ts'
import { openStorage, type StartThread } from '../../../src/storage/index.ts'
import { holdOf, line, silentLog } from '../../contract/storage.ts'

/** Opens a database as a gateway does. */
export function open(path: string, startThread?: StartThread): Promise<Storage> {
  return openStorage({
    url: `sqlite:${path}`,
    clock: systemClock,
    log: silentLog,
    role: 'gateway',
    diskBytesMin: 0,
    startThread,
  })
}

/** Sells `count` pictures, some concurrently. `told` receives the id of each settled one after its acknowledgement. */
export async function load(
  { keys, ledger, users }: Storage,
  count: number,
  acknowledge: (id: string) => void,
): Promise<void> {
  await users.create({ name: 'ada', group: 'default', role: 'user', passwordHash: null })
  const made = await createKey({ keys, users } as Storage, {
    name: 'a key',
    user: 'ada',
    group: 'default',
    budget: null,
    budgetPeriod: 'total',
    limits: {},
  })
  let left = count
  const sell = async (): Promise<void> => {
    while (left-- > 0) {
      const request = holdOf(made.key, 100_000)
      const { id } = request.facts
      await ledger.hold(request)
      await ledger.line(id, line(0))
      await ledger.line(id, line(1))
      if (await ledger.settle({ id, delivery: 'confirmed', reason: null })) acknowledge(id)
    }
  }
  await Promise.all(Array.from({ length: 4 }, sell))
}
