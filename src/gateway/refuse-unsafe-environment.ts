import { unreadableProxies } from '../util/index.ts'
import type { Environment } from './config-source.ts'

/** Rejects environment variables that silently disable security. @throws Error with the name of the variable */
export function refuseUnsafeEnvironment(env: Environment): void {
  if (env['FORCE_FETCH_PATH'])
    throw new Error('FORCE_FETCH_PATH is set: requests would bypass the transport. Unset it.')
  if (env['NODE_TLS_REJECT_UNAUTHORIZED'] === '0')
    throw new Error('NODE_TLS_REJECT_UNAUTHORIZED=0 is set: upstreams would not be verified. Unset it.')
  if (env['NODE_OPTIONS']?.includes('--insecure-http-parser'))
    throw new Error('NODE_OPTIONS contains --insecure-http-parser, which allows request smuggling. Remove it.')
  const [unreadable] = unreadableProxies(env)
  // The message omits the value, which may contain a password.
  if (unreadable !== undefined)
    throw new Error(
      `${unreadable} is not the address of a proxy: requests would go out directly. Write http://, https:// or socks5://, the percent-encoded credentials if it needs any, host and port; or unset it.`,
    )
}
