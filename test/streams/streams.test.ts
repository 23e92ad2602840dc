import t from 'tap'
import { runOnStreams } from './run-files.ts'

// The pipeline reads bodies in two ways: `npm run test:streams` runs every file the second way; these files cover the
// arrival of requests in most detail.
for (const file of ['protocol.test.ts', 'smuggling.test.ts', 'streams.test.ts', 'listener.test.ts'])
  t.test(`${file} passes with bodies that arrive as streams`, async t => {
    const { isGood, assertions, said } = await runOnStreams(file)
    t.ok(isGood, `${assertions} assertions`, { said })
  })
