import './cli/refuse-old-node.ts'
import type { LintFinding, FoundKey, KeyFacts, Loaded } from './config/index.ts'
import type { FirstAnswers, FirstDraft } from './tools/first-config.ts'
import type { GatewayConfig } from './gateway/config-source.ts'
import type { Gateway, GatewayParts } from './gateway/gateway.ts'
import type { Checked } from './tools/doctor/checked.ts'
import type {
  Audit,
  Charge,
  CostSpan,
  ImaginedRequest,
  StoredConfig,
  ConfigDifference,
  Key,
  KeySettings,
  KeyTrial,
  StoredObject,
  CompiledConfig,
  PriceList,
  RequestExplanation,
  Storage,
  VendorKey,
  WhatIf,
  VendorDeletion,
} from './domain/index.ts'
import type { Log } from './plugin-api/index.ts'
import type { Random } from './util/index.ts'
import type { Operation } from './operations/index.ts'
import type { LiveResult, LiveTrial } from './tools/doctor/try-live.ts'
import type { Merged, Recipe } from './tools/recipes/vendors.ts'
import type {
  LintedConfig,
  LintRule,
  FormattedConfig,
  BookOptions,
  ImportedBook,
  ImportedConfig,
  ImportOptions,
  TracedConfig,
} from './tools/operator.ts'
import type {
  ImportedPrices,
  ListedPrices,
  Ownership,
  PriceComparison,
  PriceImport,
  PriceQuestion,
} from './tools/price-files/index.ts'
import type { Copied } from './storage/index.ts'
import type { UpstreamShown } from './tools/read-upstreams.ts'
import type { RepriceOptions, RepriceReport } from './gateway/reprice-charges.ts'
import type { WhatIfOptions } from './gateway/what-if.ts'
import type { Workers } from './gateway/workers.ts'

// The library's door. What it opens is loaded when it is opened: a check of a file does not load a proxy. An old Node
// is refused first, and can be: nothing that is loaded with the door names what it has not.

export type { LintFinding, Finding, FoundKey, KeyFacts, Loaded, TracedValue } from './config/index.ts'
export { refusedByCheck } from './config/finding.ts'
export type { FirstAnswers, FirstDraft } from './tools/first-config.ts'
export { ConfigError } from './gateway/config-error.ts'
export type { GatewayConfig } from './gateway/config-source.ts'
export type { Gateway, GatewayParts, Listening } from './gateway/gateway.ts'
export type { ReloadResult } from './gateway/reload-result.ts'
export type { Workers } from './gateway/workers.ts'
export type { GatewayLog } from './observe/index.ts'
export { endOnFault } from './gateway/end-on-fault.ts'
export * from './plugin-api/index.ts'
export * from './domain/index.ts'
export * from './util/index.ts'
export type { Operation, SmallRequest } from './operations/index.ts'
export type {
  LintedConfig,
  LintRule,
  FormattedConfig,
  BookOptions,
  ImportedBook,
  ImportedConfig,
  ImportOptions,
  TracedConfig,
} from './tools/operator.ts'
export type {
  ImportedPrices,
  ListedPrices,
  Ownership,
  PriceComparison,
  PriceDifference,
  PriceImport,
  PriceInUse,
  PriceQuestion,
} from './tools/price-files/index.ts'
export type { LiveResult, LiveTrial } from './tools/doctor/try-live.ts'
export type { UpstreamShown } from './tools/read-upstreams.ts'
export type { Merged, Recipe, RecipeVariable } from './tools/recipes/vendors.ts'
export { StorageError, type StorageErrorCode } from './storage/errors.ts'
export { parseAnchors } from './tools/parse-anchors.ts'
export { offerSetup } from './tools/setup.ts'
export type { Checked } from './tools/doctor/checked.ts'
export type { ProcessStatus, Status } from './gateway/status.ts'
export { readVersion } from './gateway/version.ts'
export type { RepriceOptions, RepriceReport } from './gateway/reprice-charges.ts'
export type { WhatIfOptions } from './gateway/what-if.ts'
export type { Copied } from './storage/index.ts'
export { guardFailure, guardHooks } from './guardrails/index.ts'
export type { Edit, Guard, Guarded, PartVerdict, Side, Verdict } from './guardrails/index.ts'
export { ByteBudget, ByteClaim, Holdback, JsonWalk, RecordReader } from './wire/index.ts'
export type { JsonVisitor, RecordVisitor } from './wire/index.ts'

/**
 * Builds a gateway from its configuration: validates, opens the stores, recovers charges, creates the plugins.
 * @throws ConfigError when the configuration is not valid; StorageError when the stores cannot be opened
 */
export async function createGateway(config: GatewayConfig, parts: GatewayParts = {}): Promise<Gateway> {
  return (await import('./gateway/gateway.ts')).createGateway(config, parts)
}

/**
 * Runs as many gateways as `server.workers` says, in processes of their own on one address, and watches over them.
 * @throws ConfigError, StorageError, or what kept the first workers from their start
 */
export async function startWorkers(file: string, parts: Pick<GatewayParts, 'env' | 'log'> = {}): Promise<Workers> {
  return (await import('./gateway/workers.ts')).startWorkers(file, parts)
}

/** Takes over what is written into the files that `${file:…}` names while a gateway, or several, run. */
export async function watchSecrets(running: {
  readonly plan: CompiledConfig
  readonly log: Pick<Log, 'info' | 'warn'>
  reload(): Promise<unknown>
}): Promise<{ close(): void }> {
  const [{ SecretWatch }, { systemClock }] = await Promise.all([
    import('./gateway/secret-watch.ts'),
    import('./util/index.ts'),
  ])
  const { log } = running
  return new SecretWatch({ plan: () => running.plan, reload: () => running.reload(), log, clock: systemClock })
}

/** What is different between two configurations that took effect; all of `after` is new where there is nothing before it. */
export async function compareConfigs(before: StoredConfig | undefined, after: StoredConfig): Promise<ConfigDifference> {
  return (await import('./gateway/compare-configs.ts')).diffConfigs(before, after)
}

/** Hashes a password with argon2id; the result holds algorithm, salt and tag. */
export async function hashPassword(password: string, random?: Random): Promise<string> {
  return (await import('./gateway/passwords.ts')).hashPassword(password, random)
}

/** Whether a password is the one that was hashed; false for a hash of another form. */
export async function verifyPassword(password: string, hash: string): Promise<boolean> {
  return (await import('./gateway/passwords.ts')).verifyPassword(password, hash)
}

/** Whether the console and the public pages are built: the package has them, a clone without its development packages does not. */
export async function isConsoleBuilt(): Promise<boolean> {
  return (await import('./gateway/console-listener.ts')).isConsoleBuilt()
}

/**
 * Reads and checks a configuration without starting anything.
 * @param options `booksOnly` is for work on the storage alone: variables and files of secrets that only vendors, receivers
 * and issuers are shown may be missing. Nothing can be served by such a plan.
 */
export async function loadConfig(
  config: GatewayConfig,
  env: NodeJS.ProcessEnv = process.env,
  { booksOnly = false }: { readonly booksOnly?: boolean } = {},
): Promise<Loaded> {
  const [{ loadPlan }, { pluginFinder }, { knownNames }] = await Promise.all([
    import('./config/index.ts'),
    import('./gateway/plugin-finder.ts'),
    import('./gateway/known-names.ts'),
  ])
  const { file = 'gateway.yaml', ...given } = typeof config === 'string' ? { file: config } : config
  return loadPlan({ file, ...given, env, booksOnly, ...pluginFinder(file), known: knownNames })
}

/**
 * Checks a configuration as far as that can be done without starting it: third-party plugins are created on a
 * storage in memory, and closed again.
 */
export async function checkConfig(config: GatewayConfig, env: NodeJS.ProcessEnv = process.env): Promise<Loaded> {
  const loaded = await loadConfig(config, env)
  if (!loaded.ok) return loaded
  const findings = await (await import('./gateway/rehearse.ts')).rehearse(loaded.plan)
  return findings.length > 0 ? { ok: false, findings: [...loaded.notes, ...findings] } : loaded
}

/** Findings as text for a terminal: place, what was found, what would be right. */
export async function describeFindings(
  findings: readonly LintFinding[],
  options: { readonly color: boolean },
): Promise<string> {
  return (await import('./config/index.ts')).formatFindings(findings, options)
}

/** Findings for other programs: annotations of GitHub Actions, or a SARIF 2.1.0 log. */
export async function reportFindings(findings: readonly LintFinding[], format: 'github' | 'sarif'): Promise<string> {
  return (await import('./tools/operator.ts')).reportFindings(findings, format)
}

/** A configuration in its canonical layout, comments kept; nothing is written. */
export async function formatConfig(file: string, env: NodeJS.ProcessEnv = process.env): Promise<FormattedConfig> {
  return (await import('./tools/operator.ts')).formatConfig(file, env)
}

/** Every value of a configuration that is in effect, defaults too, each with where it came from. */
export async function traceConfig(file: string, env: NodeJS.ProcessEnv = process.env): Promise<TracedConfig> {
  return (await import('./tools/operator.ts')).traceConfig(file, env)
}

/** What is dangerous in a configuration, though it is valid. `skipped` names rules that are left out. */
export async function lintConfig(
  file: string,
  skipped: readonly string[] = [],
  env: NodeJS.ProcessEnv = process.env,
): Promise<LintedConfig> {
  return (await import('./tools/operator.ts')).lintConfig(file, skipped, env)
}

/** All that `lint` looks for. */
export async function listLintRules(): Promise<readonly LintRule[]> {
  return (await import('./tools/operator.ts')).listLintRules()
}

/** What these were called before; programs that use the old names go on working. */
export { lintConfig as auditConfig, listLintRules as listAuditRules }
export type { LintFinding as AuditFinding } from './config/index.ts'
export type { LintedConfig as AuditedConfig, LintRule as AuditRule } from './tools/operator.ts'

/** What there is to know of a key of the configuration, named as people do: `models.prices`, `tier_from`. */
export async function findConfigKey(name: string): Promise<FoundKey> {
  return (await import('./tools/operator.ts')).findConfigKey(name)
}

/** Every key that a configuration may have. */
export async function listConfigKeys(): Promise<readonly KeyFacts[]> {
  return (await import('./tools/operator.ts')).listConfigKeys()
}

/** What is different in `after`, one line each, prices first. */
export async function describeChanges(before: CompiledConfig, after: CompiledConfig): Promise<readonly string[]> {
  return (await import('./config/index.ts')).describeChanges(before, after)
}

/** What a plan would change of a gateway whose settings are given (`GET /config` of its ops listener), prices first. */
export async function describeSettingChanges(
  running: { readonly [path: string]: string },
  plan: CompiledConfig,
): Promise<readonly string[]> {
  return (await import('./tools/operator.ts')).describeSettingChanges(running, plan)
}

/** Names of the upstreams that a first configuration has. */
export async function firstUpstreams(): Promise<readonly string[]> {
  return (await import('./tools/first-config.ts')).firstUpstreams()
}

/**
 * A first configuration for a folder, made of the one that comes with the package; nothing is written.
 * @param recipes replace the simulated vendors in it
 */
export async function draftConfig(
  folder: string,
  answers: FirstAnswers,
  recipes: readonly Recipe[] = [],
): Promise<FirstDraft> {
  if (recipes.length > 0) return (await import('./tools/recipes/vendors.ts')).draftWith(folder, answers, recipes)
  return (await import('./tools/first-config.ts')).draftFirst(folder, answers)
}

/** What `doctor --live` would buy, and at most for how much: each operation that makes pictures, of each model. */
export async function planLive(plan: CompiledConfig, simulated = false): Promise<readonly LiveTrial[]> {
  return (await import('./tools/doctor/try-live.ts')).planLive(plan, simulated)
}

/** Buys it, through a gateway in this process with books of its own, and returns the result. */
export async function* tryLive(plan: CompiledConfig, trials: readonly LiveTrial[]): AsyncIterable<LiveResult> {
  yield* (await import('./tools/doctor/try-live.ts')).tryLive(plan, trials)
}

/** Every recipe of `docs/recipes` that has models, by name. */
export async function listRecipes(): Promise<readonly Recipe[]> {
  return (await import('./tools/recipes/vendors.ts')).readRecipes()
}

/** A configuration with recipes in it, every other byte as it was; nothing is written. @throws Error where it cannot be */
export async function mergeRecipes(text: string, recipes: readonly Recipe[]): Promise<Merged> {
  return (await import('./tools/recipes/vendors.ts')).addRecipes(text, recipes)
}

/** A configuration made of another gateway's. @throws Error when the file, or a table of prices, cannot be read */
export async function importConfig(
  file: string,
  from: 'litellm',
  options: ImportOptions = {},
): Promise<ImportedConfig> {
  return (await import('./tools/operator.ts')).importConfig(file, from, options)
}

/**
 * What the database of a new-api or one-api becomes here; nothing is written. `storage.keys.adopt` takes its people over.
 * @param source a file of SQLite, a dump of MySQL or MariaDB, or the address of a PostgreSQL
 * @throws Error when it cannot be read, or is none
 */
export async function importBook(
  source: string,
  from: 'new-api' | 'one-api',
  options: BookOptions,
): Promise<ImportedBook> {
  return (await import('./tools/operator.ts')).importBook(source, from, options)
}

/**
 * A file for `price_tables`, made of a table of LiteLLM's, OpenRouter's or new-api's; nothing is written.
 * @throws Error for a text that is none
 */
export async function importPrices(text: string, options: PriceImport): Promise<ImportedPrices> {
  return (await import('./tools/price-files/index.ts')).importPrices(text, options)
}

/** Whether a file of prices is as `importPrices` made it. */
export async function ownershipOf(text: string): Promise<Ownership> {
  return (await import('./tools/price-files/index.ts')).ownershipOf(text)
}

/** What every model of a configuration costs, with the place of each price. */
export async function listPricesInUse(file: string, env: NodeJS.ProcessEnv = process.env): Promise<ListedPrices> {
  return (await import('./tools/price-files/index.ts')).listPricesInUse(file, env)
}

/**
 * What a newer file of prices has otherwise: than an older one, or than what a configuration uses.
 * @throws Error when a file cannot be read, or is in another currency
 */
export async function comparePrices(
  query: PriceQuestion,
  env: NodeJS.ProcessEnv = process.env,
): Promise<PriceComparison> {
  return (await import('./tools/price-files/index.ts')).comparePrices(query, env)
}

/** The JSON Schema (draft-07) of the whole configuration, with the sections of the built-in plugins. */
export async function configSchema(): Promise<object> {
  const [{ gatewaySchema }, { builtins, loadSigners }] = await Promise.all([
    import('./config/index.ts'),
    import('./gateway/plugin-finder.ts'),
  ])
  return gatewaySchema(builtins, await loadSigners())
}

/** Every operation that something is known of, and all that is said of it. */
export async function listOperations(): Promise<readonly Operation[]> {
  return (await import('./operations/index.ts')).operations
}

/**
 * Explains a request without making it.
 * @throws Failure the one that the gateway would answer with
 */
export async function explainRequest(plan: CompiledConfig, request: ImaginedRequest): Promise<RequestExplanation> {
  return (await import('./gateway/explain.ts')).explainRequest(plan, request)
}

/** What every model on offer costs, by the same functions that charge for it. */
export async function listPrices(plan: CompiledConfig): Promise<PriceList> {
  return (await import('./gateway/pricing.ts')).priceList(plan)
}

/**
 * Opens a storage: `tool` works next to a running gateway, `gateway` owns it. A `tool` refuses an older schema.
 * @throws StorageError when it cannot be opened, or belongs to another gateway
 */
export async function openStorage(options: {
  readonly url: string
  readonly role: 'gateway' | 'tool'
  /** By whose days and months budgets go; UTC by default. */
  readonly timeZone?: string
  /** Percents at which an event reports how much of a budget is spent; 80 and 100 by default. */
  readonly thresholds?: readonly number[]
}): Promise<Storage> {
  const [{ openStorage: open }, { createLog }, { systemClock }] = await Promise.all([
    import('./storage/index.ts'),
    import('./observe/index.ts'),
    import('./util/index.ts'),
  ])
  return open({ ...options, clock: systemClock, log: createLog({ level: 'warn' }) })
}

/**
 * For a process that does nothing but serve, before its configuration is read: starts what a gateway on a file of SQLite
 * needs longest for, keeps what none needs from being loaded, and sets up the heap. What it returns ends
 * what no gateway has taken by then.
 */
export async function prepareProcess(): Promise<() => Promise<void>> {
  const release = (await import('./storage/sqlite/thread.ts')).prepareThread()
  await (await import('./gateway/import-http.ts')).importHttp()
  ;(await import('./gateway/tune-heap.ts')).tuneHeap()
  await (await import('./gateway/use-environment-proxy.ts')).useEnvironmentProxy()
  return release
}

/**
 * Makes a key; `by` says to the trail who does. The secret is returned this once and stored only as its hash.
 * @throws StorageError `user_unknown`
 */
export async function createKey(
  storage: Pick<Storage, 'keys'>,
  key: Partial<KeySettings> & { readonly name: string; readonly user: string },
  by?: string,
  random?: Random,
): Promise<{ readonly key: Key; readonly secret: string }> {
  const { secret, ...kept } = await makeSecret(random)
  return { key: await storage.keys.create({ group: null, ...key, ...kept }, by), secret }
}

/**
 * Gives a key a new secret, returned this once; the old one is taken for `overlapMs` more. Undefined when there is no such
 * key or it was revoked.
 */
export async function rotateKey(
  storage: Pick<Storage, 'keys'>,
  id: string,
  overlapMs: number,
  by: string,
  random?: Random,
): Promise<{ readonly key: Key; readonly secret: string } | undefined> {
  const { secret, ...kept } = await makeSecret(random)
  const key = await storage.keys.rotate(id, { ...kept, overlapMs }, by)
  return key && { key, secret }
}

async function makeSecret(
  random?: Random,
): Promise<{ readonly secret: string; readonly hash: string; readonly hint: string }> {
  const { createSecret, hashSecret, hintOfSecret } = await import('./util/index.ts')
  const secret = createSecret(random)
  return { secret, hash: hashSecret(secret), hint: hintOfSecret(secret) }
}

/**
 * Rates a charge again from what was stored with it; one sentence for each difference. Without a plan the plugins that come
 * with the gateway are searched.
 */
export async function replayCharge(charge: Charge, plan?: CompiledConfig): Promise<readonly string[]> {
  const [{ replayCharge: replay }, { builtins }] = await Promise.all([
    import('./gateway/replay.ts'),
    import('./gateway/plugin-finder.ts'),
  ])
  return replay(charge, plan?.plugins.known ?? builtins)
}

/**
 * What charges would have cost under another configuration: each is rated again from what is stored with it. Reads page after
 * page; other requests run between two pages.
 */
export async function replayCosts(
  plan: CompiledConfig,
  books: Pick<Storage['books'], 'all'>,
  span: CostSpan,
  options?: WhatIfOptions,
): Promise<WhatIf> {
  return (await import('./gateway/what-if.ts')).replayCosts(plan, books, span, options)
}

/** Compares past charges with the prices of a configuration and, with `apply`, refunds and books again those that differ. */
export async function repriceCharges(
  plan: CompiledConfig,
  { books, ledger }: Pick<Storage, 'books' | 'ledger'>,
  span: CostSpan,
  options?: RepriceOptions,
): Promise<RepriceReport> {
  return (await import('./gateway/reprice-charges.ts')).repriceCharges(plan, books, ledger, span, options)
}

/**
 * Where the gateway of a configuration listens for operators, as seen from its machine; undefined when the file says
 * none.
 */
export async function findOpsUrl(file: string): Promise<string | undefined> {
  return (await import('./gateway/ops-url.ts')).findOpsUrl(file)
}

/**
 * Looks at everything that a gateway on this configuration needs, and changes nothing: each thing is reported as it has been
 * looked at.
 */
export async function* examine(file: string): AsyncIterable<Checked> {
  yield* (await import('./tools/doctor/examine.ts')).examine(file)
}

/**
 * Copies a database of SQLite, next to a gateway that may be running on it, as it is at one moment. `to` must not be there.
 * @throws StorageError `storage_not_a_file` for a storage elsewhere, `file_exists`
 */
export async function backupStorage(options: {
  readonly url: string
  readonly to: string
  /** Reports its progress from time to time. */
  readonly onProgress?: (text: string) => void
}): Promise<void> {
  return (await import('./storage/index.ts')).backupStorage(options)
}

/**
 * Puts a copy in the place of a database of SQLite, once its books have been verified; what was there is kept aside.
 * @returns where, when something was
 * @throws StorageError `storage_not_a_file`, `storage_in_use`, `backup_unsound`
 */
export async function restoreStorage(options: {
  readonly url: string
  readonly from: string
  readonly onProgress?: (text: string) => void
}): Promise<{ readonly aside: string | undefined; readonly audit: Audit }> {
  return (await import('./storage/index.ts')).restoreStorage(options)
}

/**
 * Copies everything from one storage into another that is empty (`sqlite:FILE`, `postgres://…`), and proves the copy before it
 * is kept: rows and digests of each table, the ledger, its sums. `isSnapshot` copies next to a running gateway, as of one moment.
 * @throws StorageError `copy_in_use`, `copy_taken`, `copy_older`, `copy_outdated`, `copy_unsound`, `copy_unfinished`
 */
export async function copyStorage(options: {
  readonly from: string
  readonly to: string
  readonly isSnapshot?: boolean
  /** Reports its progress from time to time. */
  readonly onProgress?: (text: string) => void
}): Promise<Copied> {
  return (await import('./storage/index.ts')).copyStorage(options)
}

/**
 * Brings the schema of a storage up to date, as a gateway does when it starts; a file of SQLite is copied first. Waits until
 * no process of an older version works on it. `onWait` is called every second with those that it waits for.
 * @returns the schema's version before (0 for a new storage) and now
 * @throws StorageError `storage_newer`, `storage_unavailable`
 */
export async function migrateStorage(options: {
  readonly url: string
  readonly onWait?: (waitsFor: readonly string[]) => void
}): Promise<{ readonly from: number; readonly to: number }> {
  const { url, onWait = () => undefined } = options
  const [{ migrateStorage: migrate }, { systemClock }] = await Promise.all([
    import('./storage/index.ts'),
    import('./util/index.ts'),
  ])
  return migrate({ url, onWait, clock: systemClock })
}

/** Every upstream of a plan, and the state of each of its keys as stored. */
export async function listUpstreams(
  plan: CompiledConfig,
  store: Storage['vendorKeys'],
): Promise<readonly UpstreamShown[]> {
  return (await import('./tools/read-upstreams.ts')).readUpstreams(plan, store)
}

/** Deletes a stored object at its vendor; no gateway has to run. */
export async function deleteAtVendor(plan: CompiledConfig, object: StoredObject): Promise<VendorDeletion> {
  return (await import('./gateway/delete-at-vendor.ts')).deleteAtVendor(plan, object)
}

/** Tries keys of vendors at what costs nothing, one after the other; no gateway has to run. */
export async function* tryVendorKeys(plan: CompiledConfig, keys: readonly VendorKey[]): AsyncIterable<KeyTrial> {
  yield* (await import('./tools/try-vendor-keys.ts')).tryVendorKeys(plan, keys)
}
