import type { Finding } from '../config/index.ts'
import type { Credential, CompiledConfig, Upstream } from '../domain/index.ts'
import type { Log, Signer, SignerHost } from '../plugin-api/index.ts'
import type { Clock } from '../util/index.ts'
import { ConfigError } from './config-error.ts'
import type { pluginFinder } from './plugin-finder.ts'

type Signing = Extract<Credential, { readonly kind: 'sign' }>

type Parts = {
  readonly finder: () => Pick<ReturnType<typeof pluginFinder>, 'resolveSigner'>
  readonly clock: Clock
  readonly log: Log
  readonly post: SignerHost['post']
}

/** The signers of the upstreams of a plan. A signer with unchanged options keeps its tokens over a reload. */
export class Signers {
  readonly #parts: Parts
  /** By the list of credentials, which all copies of an upstream have in common. */
  readonly #known = new WeakMap<Upstream['credential'], Signer>()
  #made: ReadonlyMap<string, Signer> = new Map()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** @throws ConfigError if one cannot be created; the previous ones stay in use */
  async build(plan: CompiledConfig): Promise<void> {
    const made = new Map<string, Signer>()
    for (const { name, credential } of allUpstreams(plan)) {
      const signing = credential.find(one => one.kind === 'sign')
      if (!signing) continue
      const key = JSON.stringify([signing.signer, signing.options])
      const signer = made.get(key) ?? this.#made.get(key) ?? (await this.#create(name, signing))
      made.set(key, signer)
      this.#known.set(credential, signer)
    }
    this.#made = made
  }

  readonly of = ({ credential }: Upstream): Signer | undefined => this.#known.get(credential)

  async #create(upstream: string, { signer: name, options, origin }: Signing): Promise<Signer> {
    const { finder, clock, log, post } = this.#parts
    const plugin = await finder().resolveSigner(name)
    if (!plugin)
      throw new Error(`the signing plugin '${name}' existed when the configuration was checked, but is missing now`)
    try {
      // This plugin's own schema has validated the options, when the plan was created.
      return await plugin.create(options as never, { clock, log, post })
    } catch (error) {
      const message = `the signing plugin '${name}' cannot be created: ${error instanceof Error ? error.message : String(error)}`
      const path = `upstreams.${upstream}.credential`
      const finding: Finding = { severity: 'error', code: 'plugin_failed', ...origin, path, message, caret: '' }
      throw new ConfigError([finding])
    }
  }
}

/** An upstream with several keys has a signer for each. */
function* allUpstreams({ upstreams }: CompiledConfig): Iterable<Upstream> {
  for (const upstream of upstreams.values()) {
    yield upstream
    for (const key of upstream.keys ?? []) yield key.upstream
  }
}
