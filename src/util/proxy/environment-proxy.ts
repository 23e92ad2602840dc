import { BlockList, isIP } from 'node:net'
import { type ProxyAddress, parseProxy } from './proxy-address.ts'

type Environment = { readonly [name: string]: string | undefined }
type Place = { readonly isEncrypted: boolean; readonly host: string; readonly port: number }

/**
 * The proxy that the environment names for a server: `HTTPS_PROXY`, for servers without TLS `HTTP_PROXY`; lower case
 * comes first, as in curl. None for this machine, and for what `NO_PROXY` lists.
 */
export function environmentProxy(env: Environment, place: Place): ProxyAddress | undefined {
  const text = read(env, place.isEncrypted ? 'https_proxy' : 'http_proxy')
  if (text === undefined || isLocal(place.host) || isExempt(read(env, 'no_proxy') ?? '', place)) return undefined
  // Without a scheme it is one for HTTP, as in curl.
  return parseProxy(text.includes('://') ? text : `http://${text}`)
}

function read(env: Environment, name: string): string | undefined {
  const value = env[name] ?? env[name.toUpperCase()]
  return value === undefined || value.trim() === '' ? undefined : value.trim()
}

function isLocal(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost') || host === '::1' || host.startsWith('127.')
}

/** `*`, names with their subdomains (`example.com`, `.example.com`, `*.example.com`), addresses, networks; each may have a port. */
function isExempt(list: string, { host, port }: Place): boolean {
  const name = host.toLowerCase()
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .some(entry => {
      if (entry === '') return false
      if (entry === '*') return true
      if (entry.includes('/')) return isInNetwork(entry, name)
      const [, only = entry, at] = /^(\[[^\]]*\]|[^:]*):(\d+)$/.exec(entry) ?? []
      if (at !== undefined && Number(at) !== port) return false
      const bare = only.replace(/^\[(.*)\]$/, '$1').replace(/^\*?\./, '')
      return name === bare || (isIP(name) === 0 && name.endsWith(`.${bare}`))
    })
}

function isInNetwork(entry: string, host: string): boolean {
  const [network = '', bits = ''] = entry.split('/')
  const [family, own] = [isIP(network), isIP(host)]
  const prefix = Number(bits)
  if (own === 0 || family !== own || !/^\d+$/.test(bits) || prefix > (family === 4 ? 32 : 128)) return false
  const list = new BlockList()
  const type = family === 4 ? 'ipv4' : 'ipv6'
  list.addSubnet(network, prefix, type)
  return list.check(host, type)
}
