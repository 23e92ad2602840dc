import { writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { fuzzers } from './all.ts'
import { keepFixture } from './fixtures.ts'
import { type Fuzzer, type Report, tryOut } from './fuzzer.ts'
import { guide } from './guided.ts'
import { newSeed } from '../harness/seed.ts'

// `npm run fuzz -- [--minutes N] [--cases N] [--only a,b] [--seed S] [--guided] [--keep] [--json FILE]`: every fuzzer in
// turn with new seeds until the time is over or each has tested this many cases. Prints findings, shrunk, with the seed
// that reproduces them; exit 1 for any finding. `--keep` adds it to the cases that the suite tests every time.

const { values } = parseArgs({
  options: {
    minutes: { type: 'string' },
    cases: { type: 'string' },
    only: { type: 'string' },
    seed: { type: 'string' },
    json: { type: 'string' },
    keep: { type: 'boolean', default: false },
    guided: { type: 'boolean', default: false },
  },
})

type Sum = { cases: number; bytes: number; ms: number; turnMsMax: number; guided: number; grown: number }
type Found = { readonly name: string; readonly seed: number | null; readonly message: string; readonly found: unknown }

const wanted = values.only?.split(',')
for (const name of wanted ?? [])
  if (!fuzzers.some(one => one.name === name))
    throw new Error(`no fuzzer ${name}; there are ${fuzzers.map(one => one.name).join(', ')}`)
const chosen = fuzzers.filter(({ name }) => wanted?.includes(name) ?? true)
const casesMax = values.cases === undefined ? Infinity : Number(values.cases)
const minutes = Number(values.minutes ?? (casesMax === Infinity ? 1 : Infinity))
const first = Number(values.seed ?? newSeed())
if (!(casesMax > 0) || !(minutes > 0) || !Number.isInteger(first))
  throw new Error('minutes, cases and seed are numbers above 0')

const begun = performance.now()
const end = begun + minutes * 60_000
const sums = new Map(
  chosen.map(({ name }): [string, Sum] => [name, { cases: 0, bytes: 0, ms: 0, turnMsMax: 0, guided: 0, grown: 0 }]),
)
const faults = new Map<string, Found>()
console.log(`seed ${first}: ${chosen.map(one => one.name).join(', ')}`)

for (let round = 0, left = chosen; left.length > 0 && performance.now() < end; round++) {
  for (const fuzzer of left) {
    const sum = sums.get(fuzzer.name) as Sum
    const seed = (first + round) % 2 ** 31
    const cases = Math.min(fuzzer.short, casesMax - sum.cases)
    const report = await tryOut(fuzzer, {
      cases,
      seed,
      msMax: Math.max(1_000, Math.min(60_000, end - performance.now())),
    })
    add(sum, report)
    if (report.fault) await tell({ name: fuzzer.name, seed, ...report.fault })
    if (values.guided && fuzzer.change) await follow(fuzzer, fuzzer.change, sum, seed)
  }
  left = left.filter(({ name }) => (sums.get(name)?.cases ?? 0) < casesMax)
  progress()
}

/** Continues from the inputs that reached new code. */
async function follow(fuzzer: Fuzzer, change: NonNullable<Fuzzer['change']>, sum: Sum, seed: number): Promise<void> {
  const { report, grown } = await guide(fuzzer, change, {
    cases: fuzzer.short,
    seed,
    keep: values.keep,
    msMax: Math.min(60_000, end - performance.now()),
  })
  add(sum, report)
  sum.guided += report.cases
  sum.grown += grown
  if (report.fault) await tell({ name: fuzzer.name, seed: null, ...report.fault })
}

function add(sum: Sum, { cases, bytes, ms, turnMsMax }: Report): void {
  sum.cases += cases
  sum.bytes += bytes
  sum.ms += ms
  sum.turnMsMax = Math.max(sum.turnMsMax, turnMsMax)
}

/** Once for each kind: faults that differ only in numbers count as one. */
async function tell(found: Found): Promise<void> {
  const kind = `${found.name}: ${found.message.replaceAll(/\d+|"[^"]*"|\[.*\]/gs, '#').slice(0, 200)}`
  if (faults.has(kind)) return
  faults.set(kind, found)
  const again = found.seed === null ? '' : `\n  again: npm run fuzz -- --only ${found.name} --seed ${found.seed}`
  console.log(`FAULT ${found.name}: ${found.message}\n  case: ${JSON.stringify(found.found)}${again}`)
  if (values.keep) await keepFixture(found.name, { note: found.message.slice(0, 200), case: found.found })
}

function progress(): void {
  const rows = [...sums].map(([name, sum]) => {
    const rate = Math.round((sum.cases / Math.max(sum.ms, 1)) * 1000)
    const guided = sum.guided > 0 ? `, ${sum.guided} guided (${sum.grown} reached something new)` : ''
    return `${name} ${sum.cases} cases, ${(sum.bytes / 1e6).toFixed(1)} MB, ${rate}/s, longest turn ${Math.round(sum.turnMsMax)} ms${guided}`
  })
  console.log(`${Math.round((performance.now() - begun) / 1000)} s\n  ${rows.join('\n  ')}`)
}

const total = [...sums.values()].reduce(
  (all, { cases, bytes }) => ({ cases: all.cases + cases, bytes: all.bytes + bytes }),
  { cases: 0, bytes: 0 },
)
console.log(`${total.cases} cases, ${total.bytes} bytes, ${faults.size} faults`)
if (values.json) {
  const report = {
    seed: first,
    ms: Math.round(performance.now() - begun),
    ...total,
    fuzzers: Object.fromEntries(sums),
    faults: [...faults.values()],
  }
  await writeFile(values.json, `${JSON.stringify(report, null, 2)}\n`)
}
process.exitCode = faults.size > 0 ? 1 : 0
