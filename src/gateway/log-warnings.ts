import type { CompiledConfig } from '../domain/index.ts'
import type { GatewayLog } from '../observe/index.ts'

/** Logs important warnings of a configuration, so that they are visible without a terminal too. */
export function logWarnings({ warnings = [] }: CompiledConfig, log: GatewayLog): void {
  for (const warning of warnings)
    log.warn({ config: warning }, 'the configuration is valid, but probably not as intended')
}
