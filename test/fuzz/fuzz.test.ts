import t from 'tap'
import { fuzzers, pending } from './all.ts'
import { readFixtures } from './fixtures.ts'
import { type Report, tryCase, tryOut } from './fuzzer.ts'
import { Meter } from './meter.ts'
import { seed } from '../harness/seed.ts'

// The short run of `npm run fuzz`: the same cases in every run, new ones with SEED=new.

/** A fault that is planted in every case is found among the first. */
const plantedCases = 200
/** What is pending fails soon, and shrinking would take longer than looking. */
const pendingCases = 100

/** Shrinking ends before the file is given up, or what was found would be lost with it. */
const msMax = 60_000

// First, so that it is known of a run that does not end.
t.comment(`SEED=${seed}`)

for (const fuzzer of fuzzers) {
  const { name, promise } = fuzzer
  const isPending = pending.has(name)

  t.test(`[6.2] ${name}: ${promise}`, async t => {
    const report = await tryOut(fuzzer, { cases: isPending ? pendingCases : fuzzer.short, seed, msMax })
    t.comment(`${name}: ${report.cases} cases, ${report.bytes} bytes in ${Math.round(report.ms)} ms; SEED=${seed}`)
    if (isPending) return t.comment(`PENDING ${name}: ${tell(report)}`)
    t.equal(report.fault, undefined, tell(report))
  })

  t.test(`[6.2] ${name}: earlier findings do not recur`, async t => {
    const trial = await fuzzer.open({ planted: false, meter: new Meter() })
    let broken = 0
    try {
      for (const fixture of await readFixtures(name)) {
        const fault = await tryCase(trial, fixture.case)
        if (!isPending) t.equal(fault, undefined, fixture.note)
        if (fault !== undefined) broken++
      }
    } finally {
      await trial.close()
    }
    if (isPending) t.comment(`PENDING ${name}: ${broken} of the kept cases fail`)
  })

  t.test(`[6.2] ${name}: finds a planted fault`, async t => {
    const report = await tryOut(fuzzer, { cases: plantedCases, seed, planted: true, msMax: 10_000 })
    t.ok(report.fault, `${report.cases} cases with a fault in each, SEED=${seed}`)
    if (!report.fault) return
    const trial = await fuzzer.open({ planted: false, meter: new Meter() })
    const fault = await tryCase(trial, report.fault.found)
    await trial.close()
    // What is pending may fail without the plant too.
    if (!isPending) t.equal(fault, undefined, `what it found is the plant's: ${tell(report)}`)
  })
}

function tell({ name, fault }: Report): string {
  if (!fault) return `${name} found nothing, SEED=${seed}`
  return `${fault.message}\nSEED=${seed}, smallest case: ${JSON.stringify(fault.found)}`
}
