import { environmentProxy, parseProxy, readProxyVariable } from '../util/index.ts'

/** Node excludes these by itself. */
const here = 'localhost,127.0.0.1,[::1]'
/** Prefix of the symbols under which Node keeps the dispatchers of `fetch`, one for each version of their interface. */
const dispatcherName = 'undici.globalDispatcher.'

type Dispatcher = { dispatch(request: { readonly origin?: string | URL }, handler: unknown): boolean }
type Held = { [name: symbol]: Dispatcher }

/**
 * From now on requests of this process that are sent by `fetch` (sign-in, telemetry) go through the proxies of the
 * environment, except those that `environmentProxy` exempts, as for upstreams: Node itself reads no networks in `NO_PROXY`,
 * and no `*` in a list. Node supports only HTTP proxies.
 * @returns a function that restores the previous state
 */
export async function useEnvironmentProxy(env: NodeJS.ProcessEnv = process.env): Promise<() => void> {
  const [secure, plain] = [readHttpProxy(env, 'https_proxy'), readHttpProxy(env, 'http_proxy')]
  if (secure === undefined && plain === undefined) return () => undefined
  // Loads undici, which creates its dispatchers.
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
function readHttpProxy(env: NodeJS.ProcessEnv, variable: 'https_proxy' | 'http_proxy'): string | undefined {
  const text = readProxyVariable(env, variable)
  const proxy = text === undefined ? undefined : parseProxy(text)
  return proxy && proxy.kind !== 'socks5' ? text : undefined
}
