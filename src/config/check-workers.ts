import type { Settings } from './build.ts'
import type { Report } from './report.ts'

/**
 * Rejects several processes with stores that each process has for itself: limits would be multiplied, and charges lost.
 */
export function checkWorkers(settings: unknown, report: Report): void {
  const path = ['server', 'workers']
  if (['server', 'storage', 'counters'].some(name => report.broken([name]))) return
  const { server, storage, counters } = (settings ?? {}) as Partial<Settings>
  const workers = server?.workers ?? 1
  if (Number(workers) === 1) return
  if (counters === 'memory:') {
    const message = `found ${workers} with 'counters: memory:', which counts in each process separately: each key would get its limits ${workers === 'auto' ? 'many' : workers} times`
    report.atValue(path, {
      code: 'workers_counters',
      message,
      remedy: 'set `counters` to redis://HOST:PORT, or workers to 1',
    })
  }
  if (storage === 'sqlite::memory:') {
    const message = `found ${workers} with 'storage: sqlite::memory:', which is a separate database in each process`
    report.atValue(path, { code: 'workers_storage', message, remedy: 'set `storage` to a file, or workers to 1' })
  }
}
