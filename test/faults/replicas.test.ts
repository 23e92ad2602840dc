import t from 'tap'
import { openFleet } from './fleet.ts'
import { crashDatabase, freezeReplicas, injectConflicts, killReplicas } from './replicas.ts'
import { seed } from '../harness/seed.ts'

// `npm run test:faults` runs more of each, and waits for leases to expire by themselves. The comparison with the books
// follows all faults, because starting a fleet takes as long as one fault.
const fleet = await openFleet(t, { seed, clients: 9 })
const extent = { secondsMax: 8, isPatient: false }

await t.test('retries conflicting writes on PostgreSQL, every twentieth one [D11]', async t => {
  const { faults } = await injectConflicts(fleet, { ...extent, times: 20 })
  t.ok(faults > 0, `${faults} writes were refused`)
})

await t.test('PostgreSQL crashes under load: returns 503, then recovers by itself [D6]', async t => {
  const figures = await crashDatabase(fleet, { ...extent, times: 1 })
  t.match(figures, { faults: 1 })
  t.comment(JSON.stringify(figures))
})

await t.test(
  'one of three gateways frozen past its lease loses its charges and continues with new ones [D7] [row 24]',
  async t => t.match(await freezeReplicas(fleet, { ...extent, times: 1 }), { faults: 1 }),
)

await t.test('two of three gateways are killed under load: the others continue and end their charges [B3]', async t =>
  t.match(await killReplicas(fleet, { ...extent, times: 2 }), { faults: 2 }),
)

await t.test('nothing was lost, billed twice or billed unmade, and no hold remains [D6] [D7] [D11]', async t => {
  const figures = await fleet.finish()
  t.comment(JSON.stringify(figures))
  t.match(figures, { violations: [], unbilled: 0, double: 0, phantom: 0 })
  t.ok(figures.delivered > 50, 'there was load to speak of')
  t.strictSame(
    Object.keys(figures.refused).filter(code => !/^(storage_unavailable|request_too_slow|charge_\w+)$/.test(code)),
    [],
  )
})
