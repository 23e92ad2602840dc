import type { EngineParts } from '../engine/index.ts'
import type { OtlpConfig } from '../domain/index.ts'
import type { RequestContext } from '../plugin-api/index.ts'
import type { Clock, Random } from '../util/index.ts'
import type { GatewayLog, Observers } from '../observe/index.ts'
import type { Telemetry } from '../observe/otlp/telemetry.ts'
import { readVersion } from './version.ts'

/** Loaded only if it is configured. */
export async function openTelemetry(
  otlp: OtlpConfig,
  parts: { readonly clock: Clock; readonly random: Random; readonly log: GatewayLog },
): Promise<Telemetry> {
  const { Telemetry } = await import('../observe/otlp/telemetry.ts')
  return new Telemetry(otlp, { ...parts, version: await readVersion() })
}

/** A failure of tracing only omits the trace header. */
export function quietTrace(telemetry: Telemetry, observers: Observers): NonNullable<EngineParts['trace']> {
  const began = observers.quiet('telemetry', (context: RequestContext, upstream: string) =>
    telemetry.began(context, upstream),
  )
  return {
    began: (context, upstream) => began(context, upstream) ?? {},
    answered: observers.quiet('telemetry', (context, status) => telemetry.answered(context, status)),
  }
}
