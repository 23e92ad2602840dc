import { BlockList, isIP } from 'node:net'
import { domainToASCII } from 'node:url'
import { type ProxyAddress, parseProxy } from './proxy-address.ts'

type Environment = { readonly [name: string]: string | undefined }
type Place = { readonly isEncrypted: boolean; readonly host: string; readonly port: number }

const variables = ['https_proxy', 'http_proxy'] as const

/** Addresses of this machine. */
const local = new BlockList()
local.addSubnet('127.0.0.0', 8, 'ipv4')
local.addAddress('::1', 'ipv6')

/**
 * The proxy in the environment for a server: `HTTPS_PROXY`, or `HTTP_PROXY` for servers without TLS. Names in lower
 * case take precedence, as in curl. Undefined for this machine, and for servers in `NO_PROXY`.
 */
export function environmentProxy(env: Environment, place: Place): ProxyAddress | undefined {
  const text = readProxyVariable(env, place.isEncrypted ? 'https_proxy' : 'http_proxy')
  if (text === undefined) return undefined
  const host = spellOut(place.host)
  if (isLocal(host) || isExempt(read(env, 'no_proxy')?.[1] ?? '', { ...place, host })) return undefined
  return parseProxy(text)
}

/** Variables with a value that is no proxy address: without this check, requests would go out directly. */
export function unreadableProxies(env: Environment): readonly string[] {
  return variables.flatMap(variable => {
    const [name, text] = read(env, variable) ?? []
    return name !== undefined && text !== undefined && !parseProxy(withScheme(text)) ? [name] : []
  })
}

/** The proxy address in a variable, with a scheme; undefined if the variable is not set. */
export function readProxyVariable(env: Environment, name: 'https_proxy' | 'http_proxy'): string | undefined {
  const [, text] = read(env, name) ?? []
  return text && withScheme(text)
}

/** Without a scheme it is an HTTP proxy, as in curl. */
function withScheme(text: string): string {
  return text.includes('://') ? text : `http://${text}`
}

/** The name of the variable that is set, and its value. */
function read(env: Environment, name: string): readonly [name: string, value: string] | undefined {
  const found = env[name] === undefined ? name.toUpperCase() : name
  const value = env[found]?.trim() ?? ''
  return value === '' ? undefined : [found, value]
}

/** The host in one spelling: lower case, ASCII, without brackets and the dot of a full name. */
function spellOut(host: string): string {
  const bare = host
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '')
  if (isIP(bare) === 6 && !bare.includes('%')) return new URL(`http://[${bare}]`).hostname.slice(1, -1)
  return domainToASCII(bare) || bare
}

function isLocal(host: string): boolean {
  if (host === 'localhost' || host.endsWith('.localhost')) return true
  return isIP(host) !== 0 && local.check(host, familyOf(host))
}

/**
 * Entries are `*`, names with their subdomains (`example.com`, `.example.com`, `*.example.com`), addresses, and
 * networks. Names and addresses may have a port.
 */
function isExempt(list: string, { host, port }: Place): boolean {
  return list.split(/[\s,]+/).some(entry => {
    if (entry === '') return false
    if (entry === '*') return true
    if (entry.includes('/')) return isInNetwork(entry, host)
    const [, only = entry, at] = /^(\[[^\]]*\]|[^:]*):(\d+)$/.exec(entry) ?? []
    if (at !== undefined && Number(at) !== port) return false
    const bare = spellOut(only.replace(/^\*?\./, ''))
    return bare !== '' && (host === bare || (isIP(host) === 0 && host.endsWith(`.${bare}`)))
  })
}

function isInNetwork(entry: string, host: string): boolean {
  const [network = '', bits = ''] = entry.replaceAll(/[[\]]/g, '').split('/')
  const family = isIP(network)
  const prefix = Number(bits)
  if (isIP(host) === 0 || family === 0 || !/^\d+$/.test(bits) || prefix > (family === 4 ? 32 : 128)) return false
  const list = new BlockList()
  list.addSubnet(network, prefix, familyOf(network))
  // Also for an IPv4 address that is written as one of IPv6.
  return list.check(host, familyOf(host))
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 4 ? 'ipv4' : 'ipv6'
}
