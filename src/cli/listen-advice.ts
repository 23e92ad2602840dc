import type { CompiledConfig } from '../index.ts'

/** What an address may be refused with, and what to do about it. */
const told: { readonly [code: string]: { readonly fault: string; readonly remedy: string } } = {
  EADDRINUSE: { fault: 'is taken by another program', remedy: 'stop that one, or choose another address for' },
  EADDRNOTAVAIL: {
    fault: 'is no address of this machine',
    remedy: 'write 127.0.0.1 for this machine alone, or 0.0.0.0 for all of its addresses, for',
  },
  EACCES: {
    fault: 'may not be listened on by this user, as ports below 1024 may be by the system alone',
    remedy: 'choose a higher port (a proxy in front may have the low one) for',
  },
  EAFNOSUPPORT: { fault: 'is an address of a kind that this machine has none of', remedy: 'choose another for' },
  ENOTFOUND: { fault: 'is a name that no address is known of here', remedy: 'write an address of this machine for' },
  EAI_AGAIN: { fault: 'is a name that could not be looked up', remedy: 'write an address of this machine for' },
}

type ListenFault = NodeJS.ErrnoException & {
  readonly address?: string
  readonly port?: number
  readonly hostname?: string
}

/** One sentence about an address that cannot be had, with its remedy; undefined for any other error. */
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
  const { fault: what, remedy } = told[code] ?? {
    fault: `cannot be listened on (${message})`,
    remedy: 'choose another for',
  }
  return `${where} ${what}: ${remedy} ${keys} in the configuration (the shipped one reads ${variables}).`
}
