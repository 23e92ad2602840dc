import type { Json, UnitName, Usage } from '../domain/index.ts'
import { addCounts, readCount, readMember } from './read-members.ts'
import { UsageReport } from './usage-report.ts'

const knownMembers = new Set([
  'input_tokens',
  'output_tokens',
  'cache_creation_input_tokens',
  'cache_read_input_tokens',
])

/**
 * Usage of the messages API format: `input_tokens` excludes tokens written to a cache or read from one. If `iterations`
 * are reported, the top level describes only the last one, and the usage is their sum.
 */
export function readAnthropicUsage(usage: Json | undefined): Usage | null {
  const report = new UsageReport()
  const own = countsOf(usage)
  const iterations = readMember(usage, 'iterations')
  const sums = Array.isArray(iterations) ? (iterations as readonly Json[]).map(countsOf) : []
  for (const unit of tokenUnits) {
    const sum = addCounts(...sums.map(counts => counts[unit]))
    const count = own[unit]
    const most = sum === null || (count ?? 0) >= sum ? count : sum
    if (unit === 'input' || unit === 'output' || unit === 'cached_input') report.set(unit, most)
    else report.add(unit, most)
  }
  report.add('reasoning', readCount(usage, 'output_tokens_details', 'thinking_tokens'))
  const tools = readMember(usage, 'server_tool_use')
  report.add('web_search', readCount(tools, 'web_search_requests'))
  report.add('code_execution', readCount(tools, 'code_execution_requests'))
  report.fact('service_tier', readMember(usage, 'service_tier'))
  report.fact('speed', readMember(usage, 'speed'))
  report.fact('region', readMember(usage, 'inference_geo'))
  report.unread(usage, knownMembers)
  return report.result()
}

const tokenUnits = ['input', 'cached_input', 'cache_write', 'cache_write_1h', 'output'] as const satisfies UnitName[]

function countsOf(usage: Json | undefined): { readonly [unit in (typeof tokenUnits)[number]]: number | null } {
  const cached = readCount(usage, 'cache_read_input_tokens')
  const split = readMember(usage, 'cache_creation')
  const hour = readCount(split, 'ephemeral_1h_input_tokens')
  const parts = addCounts(readCount(split, 'ephemeral_5m_input_tokens'), hour)
  const total = readCount(usage, 'cache_creation_input_tokens')
  const written = total === null || (parts ?? 0) > total ? parts : total
  return {
    input: addCounts(readCount(usage, 'input_tokens'), written, cached),
    cached_input: cached,
    cache_write: written,
    cache_write_1h: hour,
    output: readCount(usage, 'output_tokens'),
  }
}
