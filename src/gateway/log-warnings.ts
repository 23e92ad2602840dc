import type { Plan } from '../kit/index.ts'
import type { GatewayLog } from '../observe/index.ts'

/** What a configuration was not refused for, and should not be missed: where nobody looks at a terminal too. */
export function logWarnings({ warnings = [] }: Plan, log: GatewayLog): void {
  for (const warning of warnings)
    log.warn({ config: warning }, 'the configuration is valid, and probably not what was meant')
}
