/** The beginning of a configuration with models of its own: what every one needs, and one group. */
export function smallConfig({ rpm = 6000 }: { readonly rpm?: number } = {}): string {
  return `
version: 1
currency: USD
server: { listen: "\${TOLLGATE_LISTEN}", ops: "\${TOLLGATE_OPS}", drain_wait: 0s }
storage: "\${TOLLGATE_STORAGE}"
counters: "memory:"
groups: { default: { rpm: ${rpm} } }
`
}
