import type { CompiledConfig } from '../index.ts'

/** Errors when listening on an address, with advice. */
const faults: { readonly [code: string]: { readonly fault: string; readonly remedy: string } } = {
  EADDRINUSE: { fault: 'is in use by another program', remedy: 'stop that program, or choose another address for' },
  EADDRNOTAVAIL: {
    fault: 'is not an address of this machine',
    remedy: 'use 127.0.0.1 for this machine only, or 0.0.0.0 for all of its addresses, in',
  },
  EACCES: {
    fault: 'cannot be opened by this user; ports below 1024 are reserved for the system',
    remedy: 'choose a higher port (a proxy in front can use the low one) for',
  },
  EAFNOSUPPORT: { fault: 'uses an address family that this machine does not support', remedy: 'choose another for' },
  ENOTFOUND: { fault: 'is a host name without an address', remedy: 'use an address of this machine in' },
  EAI_AGAIN: { fault: 'is a host name that could not be resolved', remedy: 'use an address of this machine in' },
}

type ListenFault = NodeJS.ErrnoException & {
  readonly address?: string
  readonly port?: number
  readonly hostname?: string
}

/** One sentence about an unusable address, with advice; undefined for any other error. */
export function listenAdvice({ server }: CompiledConfig, error: unknown): string | undefined {
  const { code = '', syscall = '', message, ...fault } = error as ListenFault
  if (!['listen', 'bind', 'getaddrinfo'].includes(syscall)) return undefined
  const host = fault.address ?? fault.hostname
  const settings = [
    { key: 'server.listen', variable: 'TOLLGATE_LISTEN', address: server.listen },
    { key: 'server.ops', variable: 'TOLLGATE_OPS', address: server.ops },
  ].filter(({ address }) => address !== undefined)
  const meant = settings.filter(({ address }) =>
    fault.port === undefined ? address?.host === host : address?.port === fault.port && address.host === host,
  )
  const named = meant.length > 0 ? meant : settings
  const keys = named.map(({ key }) => key).join(' or ')
  const variables = named.map(({ variable }) => variable).join(', ')
  const where = fault.port === undefined ? host : `${host}:${fault.port}`
  const { fault: what, remedy } = faults[code] ?? {
    fault: `cannot be opened (${message})`,
    remedy: 'choose another for',
  }
  return `${where} ${what}: ${remedy} ${keys} in the configuration (the shipped one reads ${variables}).`
}
