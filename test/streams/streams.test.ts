import t from 'tap'
import { runOnStreams } from './run-files.ts'

// One pipeline, two ways to move bytes: `npm run test:streams` runs every file this way, these are the ones that look
// closest at how a request comes in.
for (const file of ['protocol.test.ts', 'smuggling.test.ts', 'streams.test.ts', 'listener.test.ts'])
  t.test(`${file} passes with bodies that come through streams`, async t => {
    const { isGood, assertions, said } = await runOnStreams(file)
    t.ok(isGood, `${assertions} assertions`, { said })
  })
