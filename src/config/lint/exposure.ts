import { type Address, callerSlot } from '../../domain/index.ts'
import { isLoopback } from './addresses.ts'
import type { Rule } from './rule.ts'

const addressText = ({ host, port }: Address): string => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`)
const isPublic = (address: Address | undefined): address is Address =>
  address !== undefined && !isLoopback(address.host)

/** Rules about who can reach the gateway, and what is exposed. */
export const exposureRules: readonly Rule[] = [
  {
    id: 'listen-without-tls',
    severity: 'warning',
    description: 'Clients reach the gateway over the network without TLS: keys and passwords can be intercepted.',
    remedy: 'set server.tls, or listen on 127.0.0.1 with a TLS proxy in front and list the proxy in trusted_proxies',
    *look({ plan }) {
      const { listen, tls, trustedProxies = [] } = plan.server
      if (isPublic(listen) && !tls && trustedProxies.length === 0)
        yield {
          path: ['server', 'listen'],
          message: `${addressText(listen)} accepts connections from the network without TLS`,
        }
    },
  },
  {
    id: 'ops-public',
    severity: 'error',
    description: 'The operator listener has no authentication; bind it to this machine or to a private network.',
    remedy: 'use 127.0.0.1:9464 or off; expose /metrics through a proxy that authenticates clients',
    *look({ plan }) {
      const { ops } = plan.server
      if (isPublic(ops)) yield { path: ['server', 'ops'], message: `${addressText(ops)} is open to the network` }
    },
  },
  {
    id: 'proxies-any',
    severity: 'error',
    description: 'Every client is trusted as a proxy and can set its own address, so limits by address have no effect.',
    remedy: 'list only the addresses of your own proxies',
    *look({ plan }) {
      for (const [i, block] of (plan.server.trustedProxies ?? []).entries())
        if (block.endsWith('/0'))
          yield { path: ['server', 'trusted_proxies', i], message: `${block} contains every address` }
    },
  },
  {
    id: 'cors-any',
    severity: 'warning',
    description: 'Any web page can call the gateway from a browser with any key it obtains.',
    remedy: 'list the origins of your own pages',
    *look({ plan }) {
      if (plan.server.corsOrigins.includes('*'))
        yield { path: ['server', 'cors', 'origins'], message: 'every web page can call the gateway' }
    },
  },
  {
    id: 'auth-missing',
    severity: 'error',
    description: 'Without the plugin auth, anyone can use the upstreams, and no one is charged.',
    remedy: 'put auth first in the pipeline',
    *look({ plan }) {
      if (!plan.plugins.inUse.some(plugin => plugin.gives?.some(slot => slot.name === callerSlot.name)))
        yield { path: ['pipeline'], message: 'clients do not need an API key' }
    },
  },
  {
    id: 'simulator-public',
    severity: 'warning',
    description: 'Clients on the network receive simulated responses and are charged for them.',
    remedy: 'set the real url of the upstream, or listen on 127.0.0.1',
    *look({ plan }) {
      if (!isPublic(plan.server.listen)) return
      for (const { name, url } of plan.upstreams.values())
        if (url.startsWith('simulator:'))
          yield {
            path: ['upstreams', name, 'url'],
            message: `the upstream '${name}' is simulated, and the gateway accepts connections from the network`,
          }
    },
  },
  {
    id: 'agent-accepting-102-unknown',
    formerly: ['patient-agent-unknown'],
    severity: 'warning',
    description: 'A client that does not support status 102 treats it as the response and fails.',
    remedy: 'list only clients that you have tested with a 102',
    *look({ plan }) {
      for (const [i, agent] of plan.server.agentsAccepting102.entries())
        if (!patient.has(agent))
          yield {
            path: ['server', 'agents_accepting_102', i],
            message: `it is unknown whether '${agent}' supports a 102`,
          }
    },
  },
  {
    id: 'agents-102-behind-proxy',
    severity: 'warning',
    description:
      'Clients that connect through a trusted proxy never receive a 102, because some proxies treat it as the response. The list only applies to direct connections.',
    remedy:
      'set agents_accepting_102: [] if all clients connect through a proxy; use streaming for long responses there',
    *look({ plan }) {
      const { agentsAccepting102, trustedProxies = [] } = plan.server
      if (agentsAccepting102.length > 0 && trustedProxies.length > 0)
        yield {
          path: ['server', 'agents_accepting_102'],
          message: 'a 102 is not sent to clients behind trusted_proxies',
        }
    },
  },
  {
    id: 'body-unbounded',
    severity: 'warning',
    description: 'One request can use up the space shared by all uploads; other requests then get 503.',
    remedy: 'set body_max to at most one tenth of spool_max',
    *look({ plan }) {
      const { server, routes } = plan
      const share = 10
      const large = (bytes: number): boolean => bytes * share > server.spoolBytesMax
      if (large(server.bodyBytesMax))
        yield { path: ['server', 'body_max'], message: `one body may use more than a tenth of server.spool_max` }
      // A body that is streamed to the upstream uses no space here.
      for (const { bodyBytesMax, method, path, object } of routes)
        if (object?.unread !== true && bodyBytesMax !== server.bodyBytesMax && large(bodyBytesMax))
          yield {
            path: ['routes'],
            message: `a body of ${method} ${path} may use more than a tenth of server.spool_max`,
          }
    },
  },
]

/** Clients that were tested with status 102. */
const patient: ReadonlySet<string> = new Set(['OpenAI/JS', 'Anthropic/JS'])
