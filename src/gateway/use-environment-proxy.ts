import { setGlobalProxyFromEnv } from 'node:http'

const here = 'localhost,127.0.0.1,::1'

/**
 * From now on requests of this process that are sent by `fetch` (sign-in, telemetry) go through the proxies of the
 * environment, but for those to this machine. Node knows proxies for HTTP alone.
 */
export function useEnvironmentProxy(env: NodeJS.ProcessEnv = process.env): void {
  const [secure, plain] = [read(env, 'https_proxy'), read(env, 'http_proxy')]
  if (secure === undefined && plain === undefined) return
  const exempt = env['no_proxy'] ?? env['NO_PROXY'] ?? ''
  setGlobalProxyFromEnv({
    ...(secure !== undefined && { https_proxy: secure }),
    ...(plain !== undefined && { http_proxy: plain }),
    no_proxy: exempt === '' ? here : `${here},${exempt}`,
  })
}

function read(env: NodeJS.ProcessEnv, name: string): string | undefined {
  const value = env[name] ?? env[name.toUpperCase()]
  return value !== undefined && /^https?:\/\//i.test(value) ? value : undefined
}
