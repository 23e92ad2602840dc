import t from 'tap'
import { line, isBounded, settleGrowth } from './measure.ts'
import { scanners } from './answers.ts'
import { conversations } from './conversations.ts'
import { readers } from './readers.ts'

/** Large enough to show quadratic growth; `npm run growth` goes up to complete bodies. */
const bytes = 131_072

t.test('[6.1] twice the bytes cost at most 2.6 times as much for every reader and content', async t => {
  for (const reader of [...readers, ...scanners, ...conversations])
    await t.test(reader.name, async t => {
      for (const kind of Object.keys(reader.kinds)) {
        const growth = await settleGrowth(reader, kind, Math.min(bytes, reader.bytesMax ?? bytes))
        t.comment(line(growth))
        t.ok(isBounded(growth), `${kind}: ${growth.ratio.toFixed(2)} times`)
      }
    })
})
