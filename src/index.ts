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

// The entry point of the library. Each function loads its modules when it is called: checking a file does not load a
// proxy. An old Node is refused first, which works because this file imports nothing that an old Node lacks.

export type { LintFinding, Finding, FoundKey, KeyFacts, Loaded, TracedValue } from './config/index.ts'
export { refusedByCheck } from './config/finding.ts'
export type { FirstAnswers, FirstDraft } from './tools/first-config.ts'
export { ConfigError } from './gateway/config-error.ts'
export type { GatewayConfig } from './gateway/config-source.ts'
export type { Gateway, GatewayParts, Listening } from './gateway/gateway.ts'
export { replaceFile, WriteError } from './gateway/write-files.ts'
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
export { parseAnchors, readAnchors } from './tools/parse-anchors.ts'
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
 * @throws ConfigError for an invalid configuration; StorageError if the stores cannot be opened
 */
export async function createGateway(config: GatewayConfig, parts: GatewayParts = {}): Promise<Gateway> {
  return (await import('./gateway/gateway.ts')).createGateway(config, parts)
}

/**
 * Runs `server.workers` gateways in separate processes on one address, and supervises them.
 * @throws ConfigError, StorageError, or the error that kept the first workers from starting
 */
export async function startWorkers(file: string, parts: Pick<GatewayParts, 'env' | 'log'> = {}): Promise<Workers> {
  return (await import('./gateway/workers.ts')).startWorkers(file, parts)
}

/** Applies changes of the files in `${file:…}` to one or several running gateways. */
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

/** The differences between two configurations that were in effect; without the first one, all of `after` is new. */
export async function compareConfigs(before: StoredConfig | undefined, after: StoredConfig): Promise<ConfigDifference> {
  return (await import('./gateway/compare-configs.ts')).diffConfigs(before, after)
}

/** Hashes a password with argon2id; the result holds algorithm, salt and tag. */
export async function hashPassword(password: string, random?: Random): Promise<string> {
  return (await import('./gateway/passwords.ts')).hashPassword(password, random)
}

/** Whether a password matches a hash; false for a hash in another format. */
export async function verifyPassword(password: string, hash: string): Promise<boolean> {
  return (await import('./gateway/passwords.ts')).verifyPassword(password, hash)
}

/** Whether the console and the public pages are built: not so in a clone without development packages. */
export async function isConsoleBuilt(): Promise<boolean> {
  return (await import('./gateway/console-listener.ts')).isConsoleBuilt()
}

/**
 * Reads and checks a configuration without starting anything.
 * @param options `booksOnly` is for work on the storage only: secrets that are only sent to vendors, webhook receivers
 * and sign-in issuers may be missing. A gateway cannot serve such a plan.
 */
export async function loadConfig(
  config: GatewayConfig,
  env: NodeJS.ProcessEnv = process.env,
  { booksOnly = false, again = false }: { readonly booksOnly?: boolean; readonly again?: boolean } = {},
): Promise<Loaded> {
  const [{ loadPlan }, { pluginFinder }, { knownNames }] = await Promise.all([
    import('./config/index.ts'),
    import('./gateway/plugin-finder.ts'),
    import('./gateway/known-names.ts'),
  ])
  const { file = 'gateway.yaml', ...given } = typeof config === 'string' ? { file: config } : config
  return loadPlan({ file, ...given, env, booksOnly, again, ...pluginFinder(file), known: knownNames })
}

/**
 * Checks a configuration as far as possible without starting a gateway: third-party plugins are created with a
 * storage in memory, and closed again.
 */
export async function checkConfig(config: GatewayConfig, env: NodeJS.ProcessEnv = process.env): Promise<Loaded> {
  const loaded = await loadConfig(config, env)
  if (!loaded.ok) return loaded
  const findings = await (await import('./gateway/try-start.ts')).tryStart(loaded.plan)
  return findings.length > 0 ? { ok: false, findings: [...loaded.notes, ...findings] } : loaded
}

/** Findings as text for a terminal: place, problem, remedy. */
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

/** A configuration in its canonical layout, with its comments; writes nothing. */
export async function formatConfig(file: string, env: NodeJS.ProcessEnv = process.env): Promise<FormattedConfig> {
  return (await import('./tools/operator.ts')).formatConfig(file, env)
}

/** Every value in effect, including defaults, each with its source. */
export async function traceConfig(file: string, env: NodeJS.ProcessEnv = process.env): Promise<TracedConfig> {
  return (await import('./tools/operator.ts')).traceConfig(file, env)
}

/** Dangerous settings of a valid configuration. `skipped` names rules to leave out. */
export async function lintConfig(
  file: string,
  skipped: readonly string[] = [],
  env: NodeJS.ProcessEnv = process.env,
): Promise<LintedConfig> {
  return (await import('./tools/operator.ts')).lintConfig(file, skipped, env)
}

/** All rules of `lint`. */
export async function listLintRules(): Promise<readonly LintRule[]> {
  return (await import('./tools/operator.ts')).listLintRules()
}

/** Former names: programs that use them continue to work. */
export { lintConfig as auditConfig, listLintRules as listAuditRules }
export type { LintFinding as AuditFinding } from './config/index.ts'
export type { LintedConfig as AuditedConfig, LintRule as AuditRule } from './tools/operator.ts'

/** The documentation of a configuration key, by a name such as `models.prices` or `tier_from`. */
export async function findConfigKey(name: string): Promise<FoundKey> {
  return (await import('./tools/operator.ts')).findConfigKey(name)
}

/** Every key of the configuration. */
export async function listConfigKeys(): Promise<readonly KeyFacts[]> {
  return (await import('./tools/operator.ts')).listConfigKeys()
}

/** The differences in `after`, one line each, prices first. */
export async function describeChanges(before: CompiledConfig, after: CompiledConfig): Promise<readonly string[]> {
  return (await import('./config/index.ts')).describeChanges(before, after)
}

/** The changes of a plan to a gateway's settings (`GET /config` of its ops listener), prices first. */
export async function describeSettingChanges(
  running: { readonly [path: string]: string },
  plan: CompiledConfig,
): Promise<readonly string[]> {
  return (await import('./tools/operator.ts')).describeSettingChanges(running, plan)
}

/** Names of the upstreams in an initial configuration. */
export async function firstUpstreams(): Promise<readonly string[]> {
  return (await import('./tools/first-config.ts')).firstUpstreams()
}

/**
 * An initial configuration for a folder, derived from the package's own; writes nothing.
 * @param recipes replace its simulated vendors
 */
export async function draftConfig(
  folder: string,
  answers: FirstAnswers,
  recipes: readonly Recipe[] = [],
): Promise<FirstDraft> {
  if (recipes.length > 0) return (await import('./tools/recipes/vendors.ts')).draftWith(folder, answers, recipes)
  return (await import('./tools/first-config.ts')).draftFirst(folder, answers)
}

/** The purchases of `doctor --live` and their highest price: each operation of each model that makes pictures. */
export async function planLive(plan: CompiledConfig, simulated = false): Promise<readonly LiveTrial[]> {
  return (await import('./tools/doctor/try-live.ts')).planLive(plan, simulated)
}

/** Makes these purchases, through a gateway in this process with its own ledger, and returns the result. */
export async function* tryLive(plan: CompiledConfig, trials: readonly LiveTrial[]): AsyncIterable<LiveResult> {
  yield* (await import('./tools/doctor/try-live.ts')).tryLive(plan, trials)
}

/** Every recipe of `docs/recipes` that has models, by name. */
export async function listRecipes(): Promise<readonly Recipe[]> {
  return (await import('./tools/recipes/vendors.ts')).readRecipes()
}

/** Adds recipes to a configuration and keeps every other byte; writes nothing. @throws Error if that is impossible */
export async function mergeRecipes(text: string, recipes: readonly Recipe[]): Promise<Merged> {
  return (await import('./tools/recipes/vendors.ts')).addRecipes(text, recipes)
}

/** Converts another gateway's configuration. @throws Error if the file or a price table cannot be read */
export async function importConfig(
  file: string,
  from: 'litellm',
  options: ImportOptions = {},
): Promise<ImportedConfig> {
  return (await import('./tools/operator.ts')).importConfig(file, from, options)
}

/**
 * Converts the database of new-api or one-api; writes nothing. `storage.keys.adopt` imports its users.
 * @param source an SQLite file, a dump of MySQL, MariaDB or PostgreSQL, or the address of a PostgreSQL database
 * @throws Error if it cannot be read, or is not such a database
 */
export async function importBook(
  source: string,
  from: 'new-api' | 'one-api',
  options: BookOptions,
): Promise<ImportedBook> {
  return (await import('./tools/operator.ts')).importBook(source, from, options)
}

/**
 * Converts a price table of LiteLLM, OpenRouter or new-api to a file for `price_tables`; writes nothing.
 * @throws Error for text that is not such a table
 */
export async function importPrices(text: string, options: PriceImport): Promise<ImportedPrices> {
  return (await import('./tools/price-files/index.ts')).importPrices(text, options)
}

/** Whether a price file is unchanged since `importPrices` created it. */
export async function ownershipOf(text: string): Promise<Ownership> {
  return (await import('./tools/price-files/index.ts')).ownershipOf(text)
}

/** The prices of every model in a configuration, each with its place. */
export async function listPricesInUse(file: string, env: NodeJS.ProcessEnv = process.env): Promise<ListedPrices> {
  return (await import('./tools/price-files/index.ts')).listPricesInUse(file, env)
}

/**
 * The differences between a newer price file and an older one, or the prices that a configuration uses.
 * @throws Error if a file cannot be read, or uses another currency
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

/** Every known operation, with its description. */
export async function listOperations(): Promise<readonly Operation[]> {
  return (await import('./operations/index.ts')).operations
}

/**
 * Explains a request without sending it.
 * @throws Failure that the gateway would return
 */
export async function explainRequest(plan: CompiledConfig, request: ImaginedRequest): Promise<RequestExplanation> {
  return (await import('./gateway/explain.ts')).explainRequest(plan, request)
}

/** The prices of all available models, by the functions that charge for them. */
export async function listPrices(plan: CompiledConfig): Promise<PriceList> {
  return (await import('./gateway/pricing.ts')).priceList(plan)
}

/**
 * Opens a storage: `tool` works next to a running gateway, `gateway` owns it. A `tool` refuses an older schema.
 * @throws StorageError if it cannot be opened, or belongs to another gateway
 */
export async function openStorage(options: {
  readonly url: string
  readonly role: 'gateway' | 'tool'
  /** The time zone of days and months in budgets; UTC by default. */
  readonly timeZone?: string
  /** Percentages of a budget at which an event is sent; 80 and 100 by default. */
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
 * Prepares a process that only serves, before its configuration is read: starts the slowest part of a gateway on an
 * SQLite file, keeps unneeded modules from loading, and sets up the heap. The returned function ends that part if no
 * gateway has used it.
 */
export async function prepareProcess(): Promise<() => Promise<void>> {
  const release = (await import('./storage/sqlite/thread.ts')).prepareThread()
  await (await import('./gateway/import-http.ts')).importHttp()
  ;(await import('./gateway/tune-heap.ts')).tuneHeap()
  await (await import('./gateway/use-environment-proxy.ts')).useEnvironmentProxy()
  return release
}

/**
 * Creates a key; `by` is the actor in the audit log. The secret is returned only here, and stored only as its hash.
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
 * Gives a key a new secret, which is returned only here; the old one stays valid for `overlapMs`. Undefined for an
 * unknown or revoked key.
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
 * Rates a charge again from its stored data; returns a sentence for each difference. Without a plan, uses the built-in
 * plugins.
 */
export async function replayCharge(charge: Charge, plan?: CompiledConfig): Promise<readonly string[]> {
  const [{ replayCharge: replay }, { builtins }] = await Promise.all([
    import('./gateway/replay.ts'),
    import('./gateway/plugin-finder.ts'),
  ])
  return replay(charge, plan?.plugins.known ?? builtins)
}

/**
 * The costs of charges under another configuration: rates each again from its stored data. Reads page by page; other
 * requests run between two pages.
 */
export async function replayCosts(
  plan: CompiledConfig,
  books: Pick<Storage['books'], 'all'>,
  span: CostSpan,
  options?: WhatIfOptions,
): Promise<WhatIf> {
  return (await import('./gateway/what-if.ts')).replayCosts(plan, books, span, options)
}

/** Compares past charges with a configuration's prices. With `apply`, refunds and books those that differ again. */
export async function repriceCharges(
  plan: CompiledConfig,
  { books, ledger }: Pick<Storage, 'books' | 'ledger'>,
  span: CostSpan,
  options?: RepriceOptions,
): Promise<RepriceReport> {
  return (await import('./gateway/reprice-charges.ts')).repriceCharges(plan, books, ledger, span, options)
}

/** The address of a gateway's ops listener, as seen from its machine; undefined if the configuration has none. */
export async function findOpsUrl(file: string): Promise<string | undefined> {
  return (await import('./gateway/ops-url.ts')).findOpsUrl(file)
}

/**
 * Checks everything that a gateway with this configuration needs, and changes nothing. Reports each check when it is
 * done.
 */
export async function* examine(file: string): AsyncIterable<Checked> {
  yield* (await import('./tools/doctor/examine.ts')).examine(file)
}

/**
 * Copies an SQLite database as of one moment; a gateway may be using it. `to` must not exist.
 * @throws StorageError `storage_not_a_file` for another kind of storage, `file_exists`
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
 * Replaces an SQLite database with a copy after verifying the copy's ledger; keeps the replaced file.
 * @returns the path of the replaced file, if there was one
 * @throws StorageError `storage_not_a_file`, `storage_in_use`, `backup_unsound`, `storage_unavailable`
 */
export async function restoreStorage(options: {
  readonly url: string
  readonly from: string
  readonly onProgress?: (text: string) => void
}): Promise<{ readonly aside: string | undefined; readonly audit: Audit }> {
  return (await import('./storage/index.ts')).restoreStorage(options)
}

/**
 * Copies one storage to an empty one (`sqlite:FILE`, `postgres://…`) and verifies the copy before it is kept: rows and
 * digests of each table, the ledger, its sums. With `isSnapshot`, copies as of one moment while a gateway runs.
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
 * Migrates a storage to the current schema, as a gateway does when it starts; copies an SQLite file first. Waits until
 * no process of an older version uses it. `onWait` is called every second with the processes that it waits for.
 * @returns the schema version before (0 for a new storage) and after
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

/** Every upstream of a plan, with the stored state of each of its keys. */
export async function listUpstreams(
  plan: CompiledConfig,
  store: Storage['vendorKeys'],
): Promise<readonly UpstreamShown[]> {
  return (await import('./tools/read-upstreams.ts')).readUpstreams(plan, store)
}

/** Deletes a stored object at its vendor; needs no running gateway. */
export async function deleteAtVendor(plan: CompiledConfig, object: StoredObject): Promise<VendorDeletion> {
  return (await import('./gateway/delete-at-vendor.ts')).deleteAtVendor(plan, object)
}

/** Tests vendor keys with free requests, one after the other; needs no running gateway. */
export async function* tryVendorKeys(plan: CompiledConfig, keys: readonly VendorKey[]): AsyncIterable<KeyTrial> {
  yield* (await import('./tools/try-vendor-keys.ts')).tryVendorKeys(plan, keys)
}
