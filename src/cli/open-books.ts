import { loadConfig, openStorage, type Plan, type Storage } from '../index.ts'
import { Exit, exitCodes } from './exit.ts'
import { showFindings } from './show-findings.ts'

/** Who the trail says has made the changes of a command. */
export const actor = 'command line'

/** Reads the configuration for a command. @throws Exit 3 with every finding when it is not valid */
export async function readPlan(file: string): Promise<Plan> {
  const loaded = await loadConfig(file)
  if (!loaded.ok) throw new Exit(exitCodes.configInvalid, await showFindings(loaded.findings))
  return loaded.plan
}

/** Runs a command on the storage that a configuration names, beside a gateway that may be running on it. */
export async function withStorage<T>(file: string, work: (storage: Storage, plan: Plan) => Promise<T>): Promise<T> {
  const plan = await readPlan(file)
  const { storage: url, timeZone, budgetThresholds: thresholds } = plan
  const storage = await openStorage({ url, timeZone, thresholds, role: 'tool' })
  try {
    return await work(storage, plan)
  } finally {
    await storage.close()
  }
}
