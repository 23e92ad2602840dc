import { tuneHeap } from './tune-heap.ts'
import { ConfigError } from './config-error.ts'
import { endOnFault } from './end-on-fault.ts'
import type { Gateway } from './gateway.ts'
import { importHttp } from './import-http.ts'
import { useEnvironmentProxy } from './use-environment-proxy.ts'
import type {
  FromWorker,
  WorkerRequest,
  WorkerRequests,
  StartFailure,
  ToWorker,
  WorkerConfig,
  Written,
} from './worker-messages.ts'

/**
 * The process that a supervisor starts: a complete gateway, which shares its address and storage with other workers.
 */

const sendToParent = (message: FromWorker): void => void process.send?.(message)

/** The configuration for the gateway: its text is the latest one from the supervisor. */
type Config = { file: string } & { -readonly [key in keyof Written]: Written[key] }

/** Undefined until it accepts work; before that, there is nothing to finish. */
let serving: Gateway | undefined

function end(): void {
  if (!serving) process.exit(0)
  const { log } = serving
  serving.close().then(
    () => process.exit(0),
    (error: unknown) => {
      log.error({ err: error }, 'closing failed')
      process.exit(1)
    },
  )
}

async function start({ file, first, current, owner }: WorkerConfig): Promise<void> {
  const config: Config = { file, ...first }
  await importHttp()
  tuneHeap()
  await useEnvironmentProxy()
  const { createGateway } = await import('./gateway.ts')
  const gateway = await createGateway(config, { role: 'worker', owner })
  if (current) {
    Object.assign(config, current)
    const result = await gateway.reload({ how: 'start', by: null })
    // Otherwise it would serve with the initial configuration.
    if (!result.ok) throw new ConfigError(result.findings)
  }
  const { url } = await gateway.listen()
  serving = gateway
  process.on('message', (message: ToWorker) => {
    if (message.kind === 'question') void answer(message, gateway, config)
  })
  endOnFault(gateway)
  sendToParent({ kind: 'listening', url, simulated: [...gateway.simulated.keys()] })
}

async function answer(
  { id, question, given }: Extract<ToWorker, { kind: 'question' }>,
  gateway: Gateway,
  config: Config,
) {
  const answers: {
    readonly [Q in WorkerRequest]: () => Promise<WorkerRequests[Q]['gives']> | WorkerRequests[Q]['gives']
  } = {
    state: () => ({ ready: gateway.ready, open: gateway.open }),
    status: () => gateway.status(),
    reviews: () => gateway.reviews(),
    metrics: () => gateway.metrics.snapshots(),
    reload() {
      const { cause, ...written } = given ?? {}
      Object.assign(config, written)
      return gateway.reload(cause)
    },
  }
  try {
    sendToParent({ kind: 'answer', id, value: await answers[question]() })
  } catch (error) {
    sendToParent({ kind: 'fault', id, message: error instanceof Error ? error.message : String(error) })
  }
}

function failureOf(error: unknown): StartFailure {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error) }
  const { name, message } = error
  const known = { ...(error as Partial<StartFailure>) }
  const more = (['code', 'address', 'port', 'syscall', 'hostname'] as const).flatMap(key =>
    known[key] === undefined ? [] : [[key, known[key]] as const],
  )
  return { name, message, ...Object.fromEntries(more) }
}

// A terminal and systemd signal the whole process group. The supervisor handles everything except the end.
process
  .on('SIGHUP', () => undefined)
  .on('SIGTERM', end)
  .on('SIGINT', end)
process.on('message', (message: ToWorker) => {
  if (message.kind === 'close') return end()
  if (message.kind !== 'start') return
  start(message.config).catch((error: unknown) => {
    process.send?.({ kind: 'failed', failure: failureOf(error) } satisfies FromWorker, () => process.exit(1))
  })
})
