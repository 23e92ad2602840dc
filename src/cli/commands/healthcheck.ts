import { findOpsUrl } from '../../index.ts'
import { reasonOf, type OpsOptions, whyNowhere } from '../ask-ops.ts'
import { Exit, exitCodes } from '../exit.ts'

/** Shorter than the timeout of container runtimes. */
const answerMs = 2_500

/**
 * Exit 0 if the gateway's process answers, or (`ready`) accepts work; otherwise 1. Opens no storage and loads no
 * plugin.
 */
export async function healthcheck(options: OpsOptions & { readonly ready: boolean }): Promise<void> {
  const url = options.ops === undefined ? await findOpsUrl(options.config) : `http://${options.ops}`
  if (url === undefined) throw new Exit(exitCodes.failure, whyNowhere(options.config))
  const path = options.ready ? '/readyz' : '/healthz'
  const response = await fetch(url + path, { signal: AbortSignal.timeout(answerMs) }).catch((error: unknown) => {
    throw new Exit(exitCodes.failure, `${url}${path} does not respond: ${reasonOf(error)}`)
  })
  if (!response.ok) throw new Exit(exitCodes.failure, `${url}${path}: ${(await response.text()).trim()}`)
}
