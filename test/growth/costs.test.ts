import { fileURLToPath } from 'node:url'
import t from 'tap'
import { chatRequest } from '../../bench/bodies.ts'
import { startUpstream } from '../../bench/targets.ts'
import { walkGateway } from '../../bench/walk-gateway.ts'

// What one request of a chat costs, as counts that no other work on the machine moves: `npm run bench` tells the time, and
// only where it is quiet. A change that costs more raises a number here, and says why.

/** Most of each, for a chat of 1 KiB that is charged, limited and logged. */
const most: { readonly [figure: string]: number } = {
  // Every step of the path is awaited, also one that is done at once: an await costs a promise or two, and 0.1 µs.
  promises: 34,
  ticks: 8,
  timers: 4.5,
  // One to the upstream, one to the caller.
  writes: 2.1,
  // Files and functions that a reader of its path meets: 140 and 646, and some more where fewer requests share a commit.
  files: 148,
  functions: 710,
  // 1,670 to 1,790, 84,600 to 92,600 and 1,385 to 1,463, the more the busier the machine is: fewer requests share a commit. They were
  // 1,287, 67,800 and 1,082 before every count of a vendor was kept, tools were found at any depth, the form of each
  // answer was judged, and the attempts of a request, its labels and the facts of its answer were kept.
  objects: 1_950,
  bytes: 100_000,
  calls: 1_500,
}

t.test('a chat enters no more files, and makes no more promises, writes, objects and calls than before', async t => {
  const stop = new AbortController()
  t.teardown(() => stop.abort())
  const folder = t.testdir()
  const upstream = await startUpstream({ folder, stop })
  const asked = { path: '/v1/chat/completions', body: chatRequest('bench-chat', false), times: 200, heapRounds: 3 }
  const { figures } = await walkGateway(fileURLToPath(new URL('../..', import.meta.url)), folder, upstream, asked)
  for (const [figure, bound] of Object.entries(most)) {
    const value = figures[figure] ?? Number.NaN
    t.ok(value <= bound, `${figure}: ${value.toFixed(1)}, at most ${bound}`)
    t.ok(value > 0, `${figure}: ${value.toFixed(1)}, or nothing was counted`)
  }
})
