import type { Rule } from './rule.ts'

/** Rules about connections to upstreams. */
export const proxyRules: readonly Rule[] = [
  {
    id: 'proxy-without-effect',
    severity: 'warning',
    description: 'A simulated upstream runs on this machine, and an upstream without TLS has no certificate.',
    remedy: 'remove the setting, or set the real url of the upstream, with https://',
    *look({ plan }) {
      for (const { name, url, proxy, ca } of plan.upstreams.values()) {
        const isSimulated = url.startsWith('simulator:')
        if (proxy !== undefined && isSimulated)
          yield {
            path: ['upstreams', name, 'proxy'],
            message: `'proxy' has no effect on '${name}', which is simulated`,
          }
        if (ca !== undefined && !url.startsWith('https:'))
          yield {
            path: ['upstreams', name, 'ca'],
            message: `'ca' has no effect on '${name}', which is called without TLS`,
          }
      }
    },
  },
]
