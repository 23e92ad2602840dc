import { environmentProxy, parseProxy, readProxyVariable } from '../util/index.ts'

/**
 * From now on requests of this process that are sent by `fetch` (sign-in, telemetry) go through the HTTP proxies of the
 * environment, except those that `environmentProxy` exempts, as for upstreams. Without a proxy nothing is loaded.
 * @returns a function that makes the requests direct again
 */
export async function useEnvironmentProxy(env: NodeJS.ProcessEnv = process.env): Promise<() => void> {
  const [secure, plain] = [readHttpProxy(env, 'https_proxy'), readHttpProxy(env, 'http_proxy')]
  if (secure === undefined && plain === undefined) return () => undefined
  const { EnvHttpProxyAgent, getGlobalDispatcher, setGlobalDispatcher } = await import('undici')
  const direct = getGlobalDispatcher()
  // Empty values keep it from reading the environment by itself: it reads no networks in `NO_PROXY`.
  const proxies = { httpProxy: plain ?? '', httpsProxy: secure ?? '', noProxy: '' }
  const proxied = new EnvHttpProxyAgent({ ...proxies, proxyTunnel: true })
  // Also for Node's own `fetch`: see `setGlobalDispatcher` in undici's README.
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

/** With a scheme, which undici requires. */
function readHttpProxy(env: NodeJS.ProcessEnv, variable: 'https_proxy' | 'http_proxy'): string | undefined {
  const text = readProxyVariable(env, variable)
  const proxy = text === undefined ? undefined : parseProxy(text)
  return proxy && proxy.kind !== 'socks5' ? text : undefined
}
