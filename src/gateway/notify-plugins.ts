import type { Step } from '../engine/index.ts'
import type { EndedCharge } from '../domain/index.ts'
import type { Log } from '../plugin-api/index.ts'
import { isPromise } from '../util/index.ts'

/** Reports a charge that has ended to plugins, apart from the request, which neither waits for it nor fails with it. */
export function notifyPlugins(steps: readonly Step[], charge: EndedCharge, log: Pick<Log, 'error'>): void {
  for (const { plugin, hooks } of steps) {
    const failed = (err: unknown): void =>
      log.error({ charge: charge.id, plugin, err }, 'a plugin failed in onCharge; the charge is unaffected')
    try {
      const told = hooks.onCharge?.(charge)
      if (told !== undefined && isPromise(told)) told.catch(failed)
    } catch (error) {
      failed(error)
    }
  }
}
