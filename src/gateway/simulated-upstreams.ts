import type { CompiledConfig } from '../domain/index.ts'
import type { Simulator } from '../simulator/index.ts'

/** The simulated upstreams of plans (`url: simulator:NAME`), started when the first plan uses them. */
export class SimulatedUpstreams {
  /** Their addresses, by name. */
  readonly addresses = new Map<string, string>()
  #simulator: Simulator | undefined

  /** @throws Error that names the unknown simulated upstream */
  async start({ upstreams }: CompiledConfig): Promise<void> {
    for (const { url } of upstreams.values()) {
      const name = nameIn(url)
      if (name === undefined || this.addresses.has(name)) continue
      if (!this.#simulator) {
        const { startSimulator } = await import('../simulator/index.ts')
        this.#simulator = await startSimulator()
      }
      const address = this.#simulator.url(name)
      if (address === undefined)
        throw new Error(`there is no simulated upstream '${name}'; available: ${this.#simulator.names.join(', ')}`)
      this.addresses.set(name, address)
    }
  }

  /** The actual address for a URL of the configuration. */
  resolve(url: string): string {
    return this.addresses.get(nameIn(url) ?? '') ?? url
  }

  async close(): Promise<void> {
    await this.#simulator?.close()
  }
}

function nameIn(url: string): string | undefined {
  return url.startsWith('simulator:') ? url.slice('simulator:'.length) : undefined
}
