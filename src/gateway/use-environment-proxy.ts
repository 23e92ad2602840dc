import { environmentProxy, parseProxy, readProxyVariable } from '../util/index.ts'

/**
 * From now on, requests of this process through `fetch` (sign-in, telemetry) use the HTTP proxies of the environment,
 * with the exceptions of `environmentProxy`, as requests to upstreams do. Without a proxy, nothing is loaded.
 * @returns a function that makes the requests direct again
 */
export async function useEnvironmentProxy(env: NodeJS.ProcessEnv = process.env): Promise<() => void> {
  const [secure, plain] = [readHttpProxy(env, 'https_proxy'), readHttpProxy(env, 'http_proxy')]
  if (secure === undefined && plain === undefined) return () => undefined
  const { EnvHttpProxyAgent, getGlobalDispatcher, setGlobalDispatcher } = await import('undici')
  const direct = getGlobalDispatcher()
  // Empty values keep undici from reading the environment itself: it does not support networks in `NO_PROXY`.
  const proxies = { httpProxy: plain ?? '', httpsProxy: secure ?? '', noProxy: '' }
  const proxied = new EnvHttpProxyAgent({ ...proxies, proxyTunnel: true })
  // This also applies to Node's own `fetch`: see `setGlobalDispatcher` in undici's README.
  setGlobalDispatcher(
    direct.compose(
      dispatch => (request, handler) =>
        isProxied(env, request.origin) ? proxied.dispatch(request, handler) : dispatch(request, handler),
    ),
  )
  return () => setGlobalDispatcher(direct)
}

function isProxied(env: NodeJS.ProcessEnv, origin: string | URL | undefined): boolean {
  if (origin === undefined) return false
  const { protocol, hostname, port } = new URL(origin)
  const isEncrypted = protocol === 'https:'
  const place = { isEncrypted, host: hostname, port: Number(port || (isEncrypted ? 443 : 80)) }
  return (environmentProxy(env, place)?.kind ?? 'socks5') !== 'socks5'
}

/** The address with its scheme, which undici requires. */
function readHttpProxy(env: NodeJS.ProcessEnv, variable: 'https_proxy' | 'http_proxy'): string | undefined {
  const text = readProxyVariable(env, variable)
  const proxy = text === undefined ? undefined : parseProxy(text)
  return proxy && proxy.kind !== 'socks5' ? text : undefined
}
