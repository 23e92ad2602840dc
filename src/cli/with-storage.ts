import { existsSync } from 'node:fs'
import { loadConfig, openStorage, type CompiledConfig, type Storage } from '../index.ts'
import { Exit, exitCodes, say } from './exit.ts'
import { showFindings } from './show-findings.ts'

/** The actor that the audit log names for a command's changes. */
export const actor = 'command line'

/**
 * Reads the configuration for a command that calls upstreams, or needs their keys.
 * @throws Exit 3 with every finding
 */
export async function readPlan(file: string): Promise<CompiledConfig> {
  return read(file, false)
}

/** The same for other commands: the vendors' secrets need not be set in their terminal. @throws Exit 3 */
export async function readStoragePlan(file: string): Promise<CompiledConfig> {
  return read(file, true)
}

async function read(file: string, booksOnly: boolean): Promise<CompiledConfig> {
  const loaded = await loadConfig(file, process.env, { booksOnly })
  if (!loaded.ok) throw new Exit(exitCodes.configInvalid, await showFindings(loaded.findings))
  return loaded.plan
}

/**
 * Runs a command on the storage of a configuration, also while a gateway runs on it. Vendors' secrets need not be set.
 */
export async function withStorage<T>(
  file: string,
  work: (storage: Storage, plan: CompiledConfig) => Promise<T>,
): Promise<T> {
  return lendStorage(await readStoragePlan(file), work)
}

/** The same with the upstreams' real keys: the storage identifies a key's state by its secret. */
export async function withVendorKeys<T>(
  file: string,
  work: (storage: Storage, plan: CompiledConfig) => Promise<T>,
): Promise<T> {
  return lendStorage(await readPlan(file), work)
}

async function lendStorage<T>(
  plan: CompiledConfig,
  work: (storage: Storage, plan: CompiledConfig) => Promise<T>,
): Promise<T> {
  const { storage: url, timeZone, budgetThresholds: thresholds } = plan
  const missing = missingFileOf(url)
  const storage = await openStorage({ url, timeZone, thresholds, role: 'tool' })
  // Without the gateway's variables, a terminal would silently use an empty storage.
  if (missing !== undefined)
    say(`created an empty storage, because ${missing} did not exist; if the gateway uses another one, set it here too`)
  try {
    return await work(storage, plan)
  } finally {
    await storage.close()
  }
}

/** The file of a SQLite storage that does not exist yet. */
function missingFileOf(url: string): string | undefined {
  const path = /^sqlite:(?:\/\/)?(.+)$/.exec(url)?.[1]
  return path === undefined || path === ':memory:' || existsSync(path) ? undefined : path
}
