import t from 'tap'
import { caseName } from '../harness/case-name.ts'
import { checkBooks } from '../harness/shop.ts'
import { openMarket } from './market.ts'
import { rows } from './table.ts'

/** Faults of vendors, which prompts request from simulated ones. */
const faults = ['[[more 1]]', '[[hollow]]', '[[html]]', '[[cut]]', '[[error-event]]', '[[status 500]]'] as const

const market = await openMarket([...new Set(rows.map(row => row.page))])

for (const row of rows)
  void t.test(`[10] with any fault of ${row.vendor}, nothing is given away, billed unmade, or made unpaid`, async t => {
    for (const operation of ['generation', 'edit', 'stream'] as const)
      for (const fault of faults) {
        const own = row[operation]
        if ('cannot' in own || (operation === 'edit' && !('cannot' in row.generation))) continue
        const prompt = `${row.vendor} ${operation} ${fault}`
        const came = await market.count({ ...own, model: row.model, prompt })
        const charge = await market.charge()
        const made = (await market.made(row.simulator, prompt)).pictures
        const charged = charge?.lines.filter(({ quantity }) => quantity === null).length ?? 0
        const name = caseName({ operation, fault, state: charge?.state, came, charged, made })
        t.ok(['settled', 'voided', 'needs_review'].includes(String(charge?.state)), `it is over: ${name}`)
        t.ok(came <= charged, `nothing is given away: ${name}`)
        t.ok(charged <= made, `nothing is billed that was not made: ${name}`)
        t.ok(charge?.state !== 'voided' || made === 0, `nothing is made and forgotten: ${name}`)
      }
  })

t.test('[10] the books are valid afterwards', async t => {
  const { books } = market.started.gateway.storage
  for (const { id, state } of await market.started.charges(1_000))
    if (state === 'needs_review') await books.resolve(id, 'void', 'a person', 'looked at')
  t.strictSame(await checkBooks(market.started.gateway), [])
})
