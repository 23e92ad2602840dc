import { type Address, callerSlot } from '../../domain/index.ts'
import { isLoopback } from './addresses.ts'
import type { Rule } from './rule.ts'

const told = ({ host, port }: Address): string => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`)
const isPublic = (address: Address | undefined): address is Address =>
  address !== undefined && !isLoopback(address.host)

/** Who can reach the gateway, and what they find. */
export const exposureRules: readonly Rule[] = [
  {
    id: 'listen-without-tls',
    severity: 'warning',
    description: 'Callers reach the gateway over the network without TLS: keys and passwords can be read on the way.',
    remedy: 'listen on 127.0.0.1 behind a proxy that speaks TLS, name the proxy in trusted_proxies, or set server.tls',
    *look({ plan }) {
      const { listen, tls, trustedProxies = [] } = plan.server
      if (isPublic(listen) && !tls && trustedProxies.length === 0)
        yield { path: ['server', 'listen'], message: `${told(listen)} is reached from the network, without TLS` }
    },
  },
  {
    id: 'ops-public',
    severity: 'error',
    description:
      "The operators' listener asks nobody for a password; it belongs to this machine or a network of its own.",
    remedy: 'write 127.0.0.1:9464, or off; let a proxy that checks who asks pass /metrics on',
    *look({ plan }) {
      const { ops } = plan.server
      if (isPublic(ops)) yield { path: ['server', 'ops'], message: `${told(ops)} is open to the network` }
    },
  },
  {
    id: 'proxies-any',
    severity: 'error',
    description:
      'Every caller is taken for a proxy, so every caller says which address it has: limits by address hold nobody.',
    remedy: 'list the addresses of your own proxies',
    *look({ plan }) {
      for (const [i, block] of (plan.server.trustedProxies ?? []).entries())
        if (block.endsWith('/0')) yield { path: ['server', 'trusted_proxies', i], message: `${block} is everybody` }
    },
  },
  {
    id: 'cors-any',
    severity: 'warning',
    description: 'Any web page may call the gateway from a browser, with whatever key it gets hold of.',
    remedy: 'list the origins of your own pages',
    *look({ plan }) {
      if (plan.server.corsOrigins.includes('*'))
        yield { path: ['server', 'cors', 'origins'], message: 'every web page may call' }
    },
  },
  {
    id: 'auth-missing',
    severity: 'error',
    description: 'Without the plugin auth anybody uses the upstreams, and nobody pays.',
    remedy: 'put auth first in the pipeline',
    *look({ plan }) {
      if (!plan.plugins.inUse.some(plugin => plugin.gives?.some(slot => slot.name === callerSlot.name)))
        yield { path: ['pipeline'], message: 'nothing asks callers for a key' }
    },
  },
  {
    id: 'simulator-public',
    severity: 'warning',
    description: 'Callers from the network get answers that are made up, and are charged for them.',
    remedy: 'give the upstream its real url, or listen on 127.0.0.1',
    *look({ plan }) {
      if (!isPublic(plan.server.listen)) return
      for (const { name, url } of plan.upstreams.values())
        if (url.startsWith('simulator:'))
          yield {
            path: ['upstreams', name, 'url'],
            message: `the upstream '${name}' is simulated, and callers come from the network`,
          }
    },
  },
  {
    id: 'agent-accepting-102-unknown',
    formerly: ['patient-agent-unknown'],
    severity: 'warning',
    description: 'A client that does not know a 102 takes it for the answer, and fails.',
    remedy: 'name only clients that were tried with a 102',
    *look({ plan }) {
      for (const [i, agent] of plan.server.agentsAccepting102.entries())
        if (!patient.has(agent))
          yield { path: ['server', 'agents_accepting_102', i], message: `whether '${agent}' takes a 102 is not known` }
    },
  },
  {
    id: 'agents-102-behind-proxy',
    severity: 'warning',
    description:
      'No caller that comes by a proxy gets a 102, because some proxies take one for the answer: the list is for those who come directly.',
    remedy: 'write agents_accepting_102: [] where every caller comes by a proxy; streams keep long answers alive there',
    *look({ plan }) {
      const { agentsAccepting102, trustedProxies = [] } = plan.server
      if (agentsAccepting102.length > 0 && trustedProxies.length > 0)
        yield {
          path: ['server', 'agents_accepting_102'],
          message: 'a 102 is sent to nobody who comes by one of trusted_proxies',
        }
    },
  },
  {
    id: 'body-unbounded',
    severity: 'warning',
    description: 'One request may fill what the gateway keeps for all of them: then everybody else gets 503.',
    remedy: 'set body_max to at most a tenth of spool_max',
    *look({ plan }) {
      const { server, routes } = plan
      const share = 10
      const large = (bytes: number): boolean => bytes * share > server.spoolBytesMax
      if (large(server.bodyBytesMax))
        yield { path: ['server', 'body_max'], message: `one body may take more than a tenth of server.spool_max` }
      for (const { bodyBytesMax, method, path } of routes)
        if (bodyBytesMax !== server.bodyBytesMax && large(bodyBytesMax))
          yield {
            path: ['routes'],
            message: `a body of ${method} ${path} may take more than a tenth of server.spool_max`,
          }
    },
  },
]

/** Clients that were tried. */
const patient: ReadonlySet<string> = new Set(['OpenAI/JS', 'Anthropic/JS'])
