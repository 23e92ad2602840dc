export { createLog } from './log.ts'
export type { GatewayLog, LogLevel, LogOptions } from './log.ts'
export { createMetrics } from './metrics.ts'
export type { GaugeReader, KnownNames, Metrics } from './metrics.ts'
