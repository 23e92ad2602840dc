import { environmentProxy, parseProxy } from '../util/index.ts'

/** Node exempts these by itself. */
const here = 'localhost,127.0.0.1,[::1]'
/** What `fetch` sends requests by: one name for each version of undici's dispatchers. */
const dispatcherName = 'undici.globalDispatcher.'

type Dispatcher = { dispatch(request: { readonly origin?: string | URL }, handler: unknown): boolean }
type Held = { [name: symbol]: Dispatcher }

/**
 * From now on requests of this process that are sent by `fetch` (sign-in, telemetry) go through the proxies of the
 * environment, but for those that `environmentProxy` exempts, as it does for upstreams: Node reads `NO_PROXY` its own
 * way, without networks and `*` in a list. Node knows proxies for HTTP alone.
 * @returns makes it as it was
 */
export async function useEnvironmentProxy(env: NodeJS.ProcessEnv = process.env): Promise<() => void> {
  const [secure, plain] = [read(env, 'https_proxy'), read(env, 'http_proxy')]
  if (secure === undefined && plain === undefined) return () => undefined
  // Loads undici, which names its dispatchers.
  void globalThis.Request
  const held = globalThis as unknown as Held
  const names = Object.getOwnPropertySymbols(held).filter(name => name.description?.startsWith(dispatcherName))
  const before = names.map(name => [name, held[name] as Dispatcher] as const)
  const { setGlobalProxyFromEnv } = await import('node:http')
  const exempt = env['no_proxy'] ?? env['NO_PROXY'] ?? ''
  const restore = setGlobalProxyFromEnv({
    ...(secure !== undefined && { https_proxy: secure }),
    ...(plain !== undefined && { http_proxy: plain }),
    no_proxy: exempt === '' ? here : `${here},${exempt}`,
  })
  for (const [name, direct] of before) {
    const proxied = held[name] as Dispatcher
    held[name] = {
      dispatch: (request, handler) => (isProxied(env, request.origin) ? proxied : direct).dispatch(request, handler),
    }
  }
  return () => {
    restore()
    for (const [name, direct] of before) held[name] = direct
  }
}

function isProxied(env: NodeJS.ProcessEnv, origin: string | URL | undefined): boolean {
  if (origin === undefined) return false
  const { protocol, hostname, port } = new URL(origin)
  const isEncrypted = protocol === 'https:'
  return (
    environmentProxy(env, { isEncrypted, host: hostname, port: Number(port || (isEncrypted ? 443 : 80)) }) !== undefined
  )
}

/** With a scheme, which Node requires. */
function read(env: NodeJS.ProcessEnv, variable: string): string | undefined {
  const text = (env[variable] ?? env[variable.toUpperCase()] ?? '').trim()
  const value = text.includes('://') ? text : `http://${text}`
  const proxy = parseProxy(value)
  return proxy === undefined || proxy.kind === 'socks5' ? undefined : value
}
