export { tokenUsage } from './plugin.ts'
export { replayUsage } from './replay.ts'
export type { UsageFacet } from './schema.ts'
export { usageRule } from './usage-rule.ts'
