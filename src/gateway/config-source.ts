import {
  type ConfigTexts,
  type Editable,
  listEditable,
  loadPlan,
  type LoadRequest,
  showConfig,
} from '../config/index.ts'
import type { StoredConfig, CompiledConfig } from '../domain/index.ts'
import type { AnyPlugin } from '../plugin-api/index.ts'
import { readRegular } from '../util/index.ts'
import { ConfigError } from './config-error.ts'
import { knownNames } from './known-names.ts'
import { chargesAlike, readableAgain } from './rate-stored-config.ts'
import { pluginFinder } from './plugin-finder.ts'

/** The source of the configuration: a file, or a text. */
export type GatewayConfig =
  | string
  | {
      readonly text: string
      readonly file?: string
      /** The texts of the files that it refers to, by absolute path; if absent, they are read from disk. */
      readonly parts?: { readonly [path: string]: string }
    }

/** Environment variables, by name. */
export type Environment = { readonly [name: string]: string | undefined }

/** The source of a gateway's configuration, which is read at the start, for reloads, and for checks. */
export class ConfigSource {
  readonly file: string
  readonly #config: GatewayConfig
  readonly #env: Environment
  readonly #brought: readonly AnyPlugin[] | undefined

  constructor(config: GatewayConfig, env: Environment, brought: readonly AnyPlugin[] | undefined) {
    this.file = typeof config === 'string' ? config : (config.file ?? 'gateway.yaml')
    this.#config = config
    this.#env = env
    this.#brought = brought
  }

  /** A program that passes a text may replace it, as an editor may save a file. */
  get #content(): Pick<LoadRequest, 'text' | 'parts'> {
    if (typeof this.#config !== 'object') return {}
    const { text, parts } = this.#config
    return { text, ...(parts && { parts }) }
  }

  /** Plugins by their names in the configuration. */
  finder(): ReturnType<typeof pluginFinder> {
    return pluginFinder(this.file, this.#brought)
  }

  /**
   * Reads the current configuration: a plan, or its findings. `inUse`: the configuration that it would replace, if any.
   */
  read(inUse?: CompiledConfig): ReturnType<typeof loadPlan> {
    return loadPlan({
      file: this.file,
      ...this.#content,
      env: this.#env,
      ...(inUse && { inUse }),
      ...this.finder(),
      known: knownNames,
    })
  }

  /** @throws ConfigError if it is invalid */
  async readPlan(): Promise<CompiledConfig> {
    const loaded = await this.read()
    if (loaded.ok) return loaded.plan
    throw new ConfigError(loaded.findings)
  }

  /**
   * Checks a text that a person pasted as the configuration. It may only load code, read files and use variables that
   * the active configuration refers to as well.
   */
  async check(text: string, inUse: CompiledConfig) {
    const loaded = await this.judgeForeign(text, inUse)
    return loaded.ok ? { ok: true, findings: loaded.notes } : { ok: false, findings: loaded.findings }
  }

  /** The same with the resulting plan; nothing is started with it. */
  judgeForeign(text: string, inUse: CompiledConfig): ReturnType<typeof loadPlan> {
    const { secretFiles, variables = new Set<string>() } = inUse
    const nameable = { files: new Set(secretFiles.keys()), variables }
    return this.#judge({ file: this.file, text }, inUse, { nameable })
  }

  /** The texts of its own files after a change. The files that they refer to are the gateway's own, and may be read. */
  judge(texts: ConfigTexts, inUse: CompiledConfig): ReturnType<typeof loadPlan> {
    return this.#judge(texts, inUse, {})
  }

  /** Models and groups of a stored configuration; undefined if one of its texts was too long to store. */
  async listKept(kept: Pick<StoredConfig, 'files' | 'settings'>, inUse: CompiledConfig): Promise<Editable | undefined> {
    const again = readableAgain(kept, inUse, this.#env)
    return again && listEditable(again.texts, again.env)
  }

  /**
   * An earlier configuration, only for its prices; undefined if one of its texts was too long to store, or if it would
   * charge differently now.
   */
  async judgeKept(
    kept: Pick<StoredConfig, 'files' | 'settings'>,
    inUse: CompiledConfig,
  ): Promise<Awaited<ReturnType<typeof loadPlan>> | undefined> {
    const again = readableAgain(kept, inUse, this.#env)
    if (!again) return undefined
    const { texts, env } = again
    // The author of the text has set its prices, so that they need not be hidden.
    const readable = new Set(Object.keys(texts.parts ?? {}))
    const loaded = await this.#judge(texts, inUse, { env, readable, booksOnly: true, variablesAreSecret: false })
    return loaded.ok && !chargesAlike(kept.settings, loaded.plan.settings) ? undefined : loaded
  }

  #judge(
    { text, parts }: ConfigTexts,
    { files, pipeline, upstreams }: CompiledConfig,
    more: Pick<LoadRequest, 'nameable' | 'readable' | 'booksOnly' | 'variablesAreSecret'> & {
      readonly env?: Environment
    },
  ): ReturnType<typeof loadPlan> {
    const finder = this.finder()
    const named = new Set([...finder.knownPlugins, ...pipeline.map(step => step.plugin)])
    const inUse = [...upstreams.values()].flatMap(({ credential }) => credential)
    const signing = new Set([...finder.knownSigners, ...inUse.flatMap(one => (one.kind === 'sign' ? one.signer : []))])
    return loadPlan({
      file: this.file,
      text,
      ...(parts && { parts }),
      env: this.#env,
      variablesAreSecret: true,
      readable: new Set(files?.named),
      ...more,
      knownPlugins: finder.knownPlugins,
      resolvePlugin: async name => (named.has(name) ? finder.resolvePlugin(name) : undefined),
      resolveSigner: async name => (signing.has(name) ? finder.resolveSigner(name) : undefined),
      knownSigners: finder.knownSigners,
      known: knownNames,
    })
  }

  /** Whether it is a file, which may be replaced. */
  get onDisk(): boolean {
    return typeof this.#config === 'string'
  }

  get env(): Environment {
    return this.#env
  }

  /** As currently written. */
  async texts(): Promise<ConfigTexts> {
    const { text, parts } = this.#content
    return { file: this.file, text: text ?? (await readRegular(this.file)), ...(parts && { parts }) }
  }

  /** The text with redacted secrets. */
  async show() {
    const { text, parts } = this.#content
    return showConfig(this.file, text ?? (await readRegular(this.file)), this.#env, parts)
  }
}
