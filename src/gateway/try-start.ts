import type { Finding } from '../config/index.ts'
import type { CompiledConfig } from '../domain/index.ts'
import type { AnyPlugin } from '../plugin-api/index.ts'
import { Ids, systemClock, systemRandom } from '../util/index.ts'
import { createLog } from '../observe/index.ts'
import { openCounters } from '../storage/counters/index.ts'
import { openStorage } from '../storage/index.ts'
import { ConfigError } from './config-error.ts'
import { createHooks, hostOf, type PlacedStep } from './create-plugins.ts'
import { builtins, pluginFinder } from './plugin-finder.ts'
import { Signers } from './signers.ts'

/**
 * Creates a plan's third-party plugins and its upstreams' signers, as a start would, and closes them, with an empty
 * storage in memory. Reports errors at their lines.
 */
export async function tryStart(plan: CompiledConfig): Promise<readonly Finding[]> {
  const finder = pluginFinder(plan.file)
  const others: { readonly line: PlacedStep; readonly plugin: AnyPlugin }[] = []
  for (const [i, line] of plan.pipeline.entries()) {
    const plugin = await finder.resolvePlugin(line.plugin)
    if (plugin && !builtins.includes(plugin)) others.push({ line: { ...line, path: `pipeline[${i}]` }, plugin })
  }
  const log = createLog({ level: 'silent' })
  const clock = systemClock
  const unsigned = await rehearseSigners(plan, { finder: () => finder, clock, log })
  if (unsigned.length > 0 || others.length === 0) return unsigned
  const random = systemRandom
  const ids = new Ids(random)
  const storage = await openStorage({ url: 'sqlite::memory:', role: 'gateway', clock, ids, log })
  const counters = await openCounters({ url: 'memory:', clock, random, log })
  try {
    const { scanObject: parseObject } = await import('../engine/index.ts')
    const shared = { stores: { ...storage, counters }, clock, random, ids, plan, log, parseObject }
    const findings: Finding[] = []
    for (const { line, plugin } of others) {
      const created = createHooks(plugin, line, hostOf(plugin, shared, new Map()))
      if ('finding' in created) findings.push(created.finding)
      else await created.hooks.close?.()
    }
    return findings
  } finally {
    await counters.close()
    await storage.close()
  }
}

/** Creates signing plugins without calling them. */
async function rehearseSigners(
  plan: CompiledConfig,
  parts: Omit<ConstructorParameters<typeof Signers>[0], 'post'>,
): Promise<readonly Finding[]> {
  try {
    await new Signers({ ...parts, post: () => Promise.reject(new Error('no upstream is called here')) }).build(plan)
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.findings
    throw error
  }
}
