/** The beginning of a configuration for models of the test's own: the required parts, and one group. */
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
