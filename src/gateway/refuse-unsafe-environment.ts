import type { Environment } from './config-source.ts'

/** Switches of the environment that would take safety away silently. @throws Error naming the variable */
export function refuseUnsafeEnvironment(env: Environment): void {
  if (env['FORCE_FETCH_PATH'])
    throw new Error('FORCE_FETCH_PATH is set: requests would bypass the transport. Unset it.')
  if (env['NODE_TLS_REJECT_UNAUTHORIZED'] === '0')
    throw new Error('NODE_TLS_REJECT_UNAUTHORIZED=0 is set: upstreams would not be verified. Unset it.')
  if (env['NODE_OPTIONS']?.includes('--insecure-http-parser'))
    throw new Error('NODE_OPTIONS contains --insecure-http-parser, which allows request smuggling. Remove it.')
}
