import t from 'tap'
import { describedReaders } from './described.ts'
import { line, isBounded, settleGrowth } from './measure.ts'

/** Large enough to show quadratic growth; `npm run growth` goes up to complete bodies. */
const bytes = 32_768

t.test('[6.1] readers of described answers and jobs cost at most 2.6 times as much for twice the bytes', async t => {
  for (const reader of describedReaders)
    await t.test(reader.name, async t => {
      for (const kind of Object.keys(reader.kinds)) {
        const growth = await settleGrowth(reader, kind, Math.min(bytes, reader.bytesMax ?? bytes))
        t.comment(line(growth))
        t.ok(isBounded(growth), `${kind}: ${growth.ratio.toFixed(2)} times`)
      }
    })
})
