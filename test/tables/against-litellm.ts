import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Counts, TableRow, UsageFacts } from '../../src/domain/index.ts'
import { rateUsage, usesOf } from '../../src/pricing/index.ts'
import { readLitellmTable } from '../../src/tools/prices/index.ts'
import { ruleOf } from '../harness/walk-price-fields.ts'
import { seeded } from '../harness/seed.ts'

/**
 * Compares the cost of random usage by an imported table with LiteLLM's own calculator:
 * `npm run tables:litellm -- TABLE.json NAMES.txt [PYTHON]`. Exits 1 where a difference has no explanation, and 2 where Python or
 * the package is missing.
 */
const unexplained = 'NOT EXPLAINED'
const [file, names, python = 'python3'] = process.argv.slice(2)
if (file === undefined || names === undefined) throw new Error('name a table, and a file with names of its rows')
const has = spawnSync(python, ['-c', 'import litellm'], { encoding: 'utf8' })
if (has.status !== 0) {
  console.error(
    `NOTHING WAS COMPARED: ${python} cannot import litellm (pip install litellm): ${has.stderr || String(has.error)}`,
  )
  process.exit(2)
}

const wanted = new Set(
  readFileSync(names, 'utf8')
    .split('\n')
    .filter(line => line !== '' && !line.startsWith('#')),
)
const modes = new Set(['chat', 'responses', 'embedding'])
const rows = (readLitellmTable(readFileSync(file, 'utf8'))?.rows ?? []).filter(
  row => wanted.has(row.id) && modes.has(row.mode ?? ''),
)

/** The same numbers in every run. */
const unit = seeded(20_261_126)
const upTo = (most: number): number => Math.floor(unit() * (most + 1))
const maybe = (chance: number, most: number): number => (unit() < chance ? upTo(most) : 0)

type Case = {
  readonly row: TableRow
  readonly counts: Counts
  readonly facts: UsageFacts
  readonly asked: {
    readonly model: string
    readonly provider: string | undefined
    readonly usage: object
    readonly tier: string | null
  }
}

function makeCase(row: TableRow): Case {
  const { prices, overrides = [], times = [] } = row
  const has = (name: string): boolean => prices[name] !== undefined
  const input = Math.floor(Math.exp(unit() * Math.log(600_000))) + 1
  const cached = has('cached_input') ? maybe(0.5, input) : 0
  const written = has('cache_write') ? maybe(0.4, input - cached) : 0
  const hour = has('cache_write_1h') ? maybe(0.5, written) : 0
  // For the long retention of written tokens, vendors offer one hour, or twelve.
  const [short, long] = row.provider === 'openai' ? ['30m', '12h'] : ['5m', '1h']
  const sound = has('input_audio') ? maybe(0.4, input - cached - written) : 0
  const output = row.mode === 'embedding' ? 0 : upTo(8_000)
  const reasoning = row.mode === 'embedding' ? 0 : maybe(0.4, output)
  const spoken = has('output_audio') ? maybe(0.5, output - reasoning) : 0
  const searches = row.provider === 'anthropic' && has('web_search') ? maybe(0.3, 5) : 0
  const tiers = [...new Set(overrides.flatMap(one => [one.if.service_tier ?? []].flat()))].filter(
    one => one !== 'batch' && one !== 'fast',
  )
  const tier = tiers.length > 0 && unit() < 0.4 ? (tiers[upTo(tiers.length - 1)] as string) : null
  const isFast = times.some(one => one.if.speed === 'fast') && unit() < 0.3
  const isUs = row.provider === 'anthropic' && times.some(one => one.if.region === 'us') && unit() < 0.3
  const counts: Counts = {
    input,
    cached_input: cached,
    cache_write: written,
    cache_write_1h: hour,
    input_audio: sound,
    output,
    reasoning,
    output_audio: spoken,
    web_search: searches,
  }
  const usage = {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: {
      cached_tokens: cached,
      cache_creation_tokens: written,
      audio_tokens: sound,
      text_tokens: input - cached - written - sound,
      ...(hour > 0 && {
        cache_creation_token_details: {
          [`ephemeral_${short}_input_tokens`]: written - hour,
          [`ephemeral_${long}_input_tokens`]: hour,
        },
      }),
    },
    completion_tokens_details: {
      reasoning_tokens: reasoning,
      audio_tokens: spoken,
      text_tokens: output - reasoning - spoken,
    },
    ...(written > 0 && { cache_creation_input_tokens: written }),
    ...(cached > 0 && { cache_read_input_tokens: cached }),
    ...(searches > 0 && { server_tool_use: { web_search_requests: searches } }),
    ...(isFast && { speed: 'fast' }),
    ...(isUs && { inference_geo: 'us' }),
  }
  const facts: UsageFacts = {
    ...(tier !== null && { service_tier: tier }),
    ...(isFast && { speed: 'fast' }),
    ...(isUs && { region: 'us' }),
  }
  return { row, counts, facts, asked: { model: row.id, provider: row.provider, usage, tier } }
}

const cases = Array.from({ length: 2_000 }, (_, i) => makeCase(rows[i % rows.length] as TableRow))
const script = fileURLToPath(new URL('cost.py', import.meta.url))
const result = spawnSync(python, [script], {
  input: JSON.stringify(cases.map(one => one.asked)),
  encoding: 'utf8',
  maxBuffer: 2 ** 26,
})
if (result.status !== 0) throw new Error(result.stderr)
const costs = JSON.parse(result.stdout.slice(result.stdout.indexOf('['))) as readonly (number | string)[]

const at = Date.now()
let same = 0
const differing = new Map<string, string[]>()
for (const [i, { row, counts, facts }] of cases.entries()) {
  const theirs = costs[i] as number | string
  const ours = rateUsage(ruleOf(row), { uses: usesOf(counts, 'output'), facts, at }).amount / 1e6
  // The gateway's result is rounded to a millionth.
  if (typeof theirs === 'number' && Math.abs(ours - theirs) <= 6e-7 + theirs * 1e-9) {
    same++
    continue
  }
  const used = Object.entries(counts).flatMap(([name, count]) => (count > 0 ? [`${name} ${count}`] : []))
  const line = `${row.id} ${JSON.stringify(facts)} ${used.join(', ')}: ${ours} here, ${theirs} there`
  const why = explain({ row, counts, facts, ours, theirs })
  differing.set(why, [...(differing.get(why) ?? []), line])
}
console.log(`${rows.length} models, ${cases.length} requests, ${same} alike`)
for (const [why, lines] of differing) {
  console.log(`${lines.length}: ${why}`)
  for (const line of lines.slice(0, why === unexplained ? 20 : 2)) console.log(`    ${line}`)
}
process.exitCode = differing.has(unexplained) ? 1 : 0

function explain(one: Omit<Case, 'asked'> & { readonly ours: number; readonly theirs: number | string }): string {
  if (typeof one.theirs === 'string') return `it raises: ${one.theirs.slice(0, 80)}`
  const { service_tier: tier } = one.facts
  const overrides = one.row.overrides ?? []
  const isOfTier = overrides.some(
    ({ if: { service_tier: named } }) => tier !== undefined && [named].flat().includes(tier),
  )
  const sizes = overrides.flatMap(({ if: { input_above: above } }) => above ?? [])
  const isLarge = sizes.some(above => (one.counts.input ?? 0) > above)
  // LiteLLM uses the size's price here, although the tier's price is higher.
  if (isOfTier && isLarge && one.ours > one.theirs)
    return 'the table has no price for this tier at this size, and the dearer of the two is charged here'
  return unexplained
}
