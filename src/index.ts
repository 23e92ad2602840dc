import { hashSecret, hintOfSecret, createSecret } from '../plugins/auth/index.ts'
import { replayCharge as replay } from '../plugins/image-tier-billing/index.ts'
import { builtins } from '../plugins/index.ts'
import { gatewaySchema, type Loaded, loadPlan } from './config/index.ts'
import { pluginFinder } from './plugin-finder.ts'
import { type Charge, type Key, type Storage, systemClock } from './kit/index.ts'
import { createLog } from './observe/index.ts'
import { openStorage as openStore } from './storage/index.ts'

export { formatFindings, type Finding, type Loaded } from './config/index.ts'
export { explainRequest, type RequestExplanation } from './explain.ts'
export { ConfigError, createGateway } from './gateway.ts'
export type { Gateway, GatewayConfig, GatewayParts, Listening, ReloadResult } from './gateway.ts'
export * from './kit/index.ts'
export { hashPassword, verifyPassword } from './passwords.ts'
export { pluginFinder } from './plugin-finder.ts'

/** Reads and checks a configuration without starting anything. */
export function loadConfig(file: string, env: NodeJS.ProcessEnv = process.env): Promise<Loaded> {
  return loadPlan({ file, env, ...pluginFinder(file) })
}

/** The JSON Schema (draft-07) of the whole configuration, with the sections of the built-in plugins. */
export function configSchema(): object {
  return gatewaySchema(builtins)
}

/**
 * Opens a storage: `tool` works beside a running gateway, `gateway` owns it.
 * @throws StorageError when it cannot be opened, or belongs to another gateway
 */
export function openStorage(options: { readonly url: string; readonly role: 'gateway' | 'tool' }): Promise<Storage> {
  return openStore({ ...options, clock: systemClock, log: createLog({ level: 'warn' }) })
}

/** Makes a key. The secret is returned this once and stored only as its hash. */
export async function createKey(
  storage: Storage,
  key: {
    readonly name: string
    readonly user: string
    readonly group?: string | null
    readonly budget?: number | null
    readonly models?: readonly string[] | null
  },
): Promise<{ readonly key: Key; readonly secret: string }> {
  const secret = createSecret()
  const { name, user, group = null, budget = null, models = null } = key
  const made = await storage.keys.create({
    name,
    user,
    group,
    budget,
    models,
    hash: hashSecret(secret),
    hint: hintOfSecret(secret),
  })
  return { key: made, secret }
}

/** Rates a charge again from what was stored with it; one sentence for each difference. */
export function replayCharge(charge: Charge): readonly string[] {
  return replay(charge)
}
