import {
  type ConfigCause,
  createGateway,
  endOnFault,
  type Listening,
  type Log,
  openStorage,
  type CompiledConfig,
  type ReloadResult,
  startWorkers,
  type Storage,
} from '../index.ts'

/** A running gateway, in this process or in worker processes. */
export type Served = Listening & {
  readonly plan: CompiledConfig
  readonly log: Pick<Log, 'info' | 'warn'>
  /** Names of the upstreams that are simulated. */
  readonly simulated: readonly string[]
  /** Requests under way. */
  open(): number | Promise<number>
  reload(cause: ConfigCause): Promise<ReloadResult>
  close(): Promise<void>
  /** Releases nothing, for a process that is about to exit. */
  abandon(): void
  /** Calls `work` with the storage. */
  withStorage<T>(work: (storage: Storage) => Promise<T>): Promise<T>
  /** Settles when the gateway cannot continue. */
  readonly failed: Promise<Error>
}

/** Serves in this process. */
export async function serveHere(config: string, plan: CompiledConfig): Promise<Served> {
  const gateway = await createGateway(config, { plan })
  try {
    const listening = await gateway.listen()
    endOnFault(gateway)
    return {
      ...listening,
      get plan() {
        return gateway.plan
      },
      log: gateway.log,
      simulated: [...gateway.simulated.keys()],
      open: () => gateway.open,
      reload: cause => gateway.reload(cause),
      close: () => gateway.close(),
      abandon: () => undefined,
      withStorage: work => work(gateway.storage),
      failed: new Promise(() => undefined),
    }
  } catch (error) {
    await gateway.close()
    throw error
  }
}

/** Starts `server.workers` processes; this one only supervises them. */
export async function serveWorkers(config: string): Promise<Served> {
  const workers = await startWorkers(config)
  const { plan, log, listening, simulated, failed } = workers
  return {
    ...listening,
    get plan() {
      return workers.plan
    },
    log,
    simulated,
    open: () => workers.open(),
    reload: cause => workers.reload(cause),
    close: () => workers.close(),
    abandon: () => workers.kill(),
    async withStorage(work) {
      const { storage: url, timeZone, budgetThresholds: thresholds } = plan
      const storage = await openStorage({ url, timeZone, thresholds, role: 'tool' })
      try {
        return await work(storage)
      } finally {
        await storage.close()
      }
    },
    failed,
  }
}
