import { existsSync } from 'node:fs'
import { findOpsUrl } from '../index.ts'
import { Exit, exitCodes } from './exit.ts'

/** A reload waits for requests to the storage and for every worker. */
const answerMs = 60_000

export type OpsOptions = {
  readonly config: string
  /** The ops address as host:port; by default that of the configuration. */
  readonly ops?: string
}

/** Calls the running gateway. @throws Exit 4 if there is none, 1 if it refuses */
export async function askOps(options: OpsOptions, method: 'GET' | 'POST', path: string): Promise<Response> {
  const url = options.ops === undefined ? await findOpsUrl(options.config) : `http://${options.ops}`
  if (url === undefined) throw new Exit(exitCodes.noGateway, whyNowhere(options.config))
  if (URL.canParse(url) && new URL(url).port === '0') throw new Exit(exitCodes.noGateway, portNotKnown)
  const response = await fetch(url + path, { method, signal: AbortSignal.timeout(answerMs) }).catch(
    (error: unknown) => {
      const elsewhere = options.ops === undefined ? ' Use --ops host:port for a gateway at another address.' : ''
      throw new Exit(
        exitCodes.noGateway,
        `no gateway answers at ${url} (${reasonOf(error)}). Is it running?${elsewhere}`,
      )
    },
  )
  if (response.status === 403 || response.status >= 500)
    throw new Exit(exitCodes.failure, (await response.text()).trim())
  if (!response.ok && response.status !== 422)
    throw new Exit(exitCodes.noGateway, `the server at ${url} is not a gateway, or is an older version`)
  return response
}

const portNotKnown =
  "port 0 means any free port, so the configuration does not contain the address. Use the address from the gateway's first log lines: --ops host:port."

/** The reason why a configuration has no address of a running gateway, and the remedy. */
export function whyNowhere(config: string): string {
  return existsSync(config)
    ? `${config} has no readable server.ops, the address of the running gateway. Set it, or use --ops host:port; tollgate check reports its errors.`
    : `${config} does not exist, so the address of the running gateway is unknown. Use -c FILE or --ops host:port.`
}

/** The cause of a failed fetch. */
export function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  if (!(cause instanceof Error)) return String(cause)
  return 'code' in cause ? String(cause.code) : cause.message
}
