import type { CompiledConfig } from '../domain/index.ts'
import type { GatewayLog } from '../observe/index.ts'

/** Warnings of a configuration that should not be missed, also without a terminal. */
export function logWarnings({ warnings = [] }: CompiledConfig, log: GatewayLog): void {
  for (const warning of warnings)
    log.warn({ config: warning }, 'the configuration is valid, but probably not as intended')
}
