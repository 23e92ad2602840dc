import t from 'tap'
import { fuzzers, pending } from './all.ts'
import { readFixtures } from './fixtures.ts'
import { type Report, tryCase, tryOut } from './fuzzer.ts'
import { Meter } from './meter.ts'
import { seed } from '../harness/seed.ts'

// The short run of `npm run fuzz`: the same cases in every run, new ones with SEED=new.

/** A fault planted in every case must be found within this many cases. */
const plantedCases = 200
/** Pending promises fail soon, and shrinking takes longer than the search. */
const pendingCases = 100

/** Shrinking has to end before the timeout of the file, or the finding would be lost. */
const msMax = 60_000

// Printed first, so that the seed of a hanging run is known.
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
    // Pending promises may also fail without the planted fault.
    if (!isPending) t.equal(fault, undefined, `what it found is the plant's: ${tell(report)}`)
  })
}

function tell({ name, fault }: Report): string {
  if (!fault) return `${name} found nothing, SEED=${seed}`
  return `${fault.message}\nSEED=${seed}, smallest case: ${JSON.stringify(fault.found)}`
}
