import type { Json, UnitName, Usage } from '../domain/index.ts'
import { addCounts, readCount, readMember } from './read-members.ts'
import { UsageReport } from './usage-report.ts'

const knownMembers = new Set([
  'promptTokenCount',
  'candidatesTokenCount',
  // The name in live sessions.
  'responseTokenCount',
  'totalTokenCount',
  'cachedContentTokenCount',
  'thoughtsTokenCount',
  'toolUsePromptTokenCount',
  'billablePromptTokenCount',
])

const inputModalities: { readonly [modality: string]: UnitName } = {
  AUDIO: 'input_audio',
  IMAGE: 'input_image',
  VIDEO: 'input_video',
}
const cachedModalities: { readonly [modality: string]: UnitName } = {
  AUDIO: 'cached_input_audio',
  IMAGE: 'cached_input_image',
  VIDEO: 'cached_input_video',
}
const outputModalities: { readonly [modality: string]: UnitName } = { AUDIO: 'output_audio', IMAGE: 'output_image' }

/**
 * Usage of the generative-language API format. The prompt's tokens include the cached ones, but not those that tools
 * added; candidates and thoughts are both output. Answers omit counts of zero, so at the `end` a missing output count
 * is the rest of the total.
 */
export function readGoogleUsage(data: Json, end: boolean): Usage | null {
  const usage = readMember(data, 'usageMetadata')
  const report = new UsageReport()
  const input = addCounts(readCount(usage, 'promptTokenCount'), readCount(usage, 'toolUsePromptTokenCount'))
  const thoughts = readCount(usage, 'thoughtsTokenCount')
  const output = addCounts(readCount(usage, 'candidatesTokenCount'), readCount(usage, 'responseTokenCount'), thoughts)
  const total = readCount(usage, 'totalTokenCount')
  const rest = end && total !== null && input !== null ? Math.max(0, total - input) : null
  report.set('input', input)
  report.set('cached_input', readCount(usage, 'cachedContentTokenCount'))
  report.set('output', output ?? rest)
  report.add('reasoning', thoughts)
  addModalities(report, readMember(usage, 'promptTokensDetails'), inputModalities)
  addModalities(report, readMember(usage, 'toolUsePromptTokensDetails'), inputModalities)
  addModalities(report, readMember(usage, 'cacheTokensDetails'), cachedModalities)
  addModalities(report, readMember(usage, 'candidatesTokensDetails'), outputModalities)
  addModalities(report, readMember(usage, 'responseTokensDetails'), outputModalities)
  report.separateCached()
  report.fact('service_tier', tierOf(readMember(usage, 'serviceTier') ?? readMember(usage, 'trafficType')))
  report.unread(usage, knownMembers)
  addGrounding(report, readMember(data, 'candidates'))
  return report.result()
}

/** `ON_DEMAND_PRIORITY` is the tier `priority`; `ON_DEMAND` alone is the standard tier. */
function tierOf(value: Json | undefined): Json | undefined {
  if (typeof value !== 'string') return undefined
  const tier = value.toLowerCase().replace(/^on_demand_?/, '')
  return tier === '' || tier.endsWith('unspecified') ? 'standard' : tier
}

function addModalities(
  report: UsageReport,
  details: Json | undefined,
  unitsBy: { readonly [modality: string]: UnitName },
): void {
  if (!Array.isArray(details)) return
  for (const one of details as readonly Json[]) {
    const modality = readMember(one, 'modality')
    const unit = typeof modality === 'string' ? unitsBy[modality.toUpperCase()] : undefined
    if (unit) report.add(unit, readCount(one, 'tokenCount'))
  }
}

/** `grounding` counts grounded prompts, `web_search` the queries for them; a price for one covers both. */
function addGrounding(report: UsageReport, candidates: Json | undefined): void {
  if (!Array.isArray(candidates)) return
  let queries = 0
  let isGrounded = false
  let usesMaps = false
  for (const candidate of candidates as readonly Json[]) {
    const metadata = readMember(candidate, 'groundingMetadata')
    const own = lengthOf(metadata, 'webSearchQueries') + lengthOf(metadata, 'imageSearchQueries')
    const chunks = readMember(metadata, 'groundingChunks')
    const sources = Array.isArray(chunks) ? (chunks as readonly Json[]) : []
    queries += own
    isGrounded ||= own > 0 || sources.some(one => (readMember(one, 'web') ?? readMember(one, 'image')) !== undefined)
    usesMaps ||= sources.some(one => readMember(one, 'maps') !== undefined)
  }
  report.add('grounding', isGrounded ? 1 : 0)
  report.add('web_search', queries)
  report.add('maps', usesMaps ? 1 : 0)
}

function lengthOf(value: Json | undefined, name: string): number {
  const list = readMember(value, name)
  return Array.isArray(list) ? list.length : 0
}
