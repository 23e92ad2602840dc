import { fileURLToPath } from 'node:url'
import t from 'tap'
import { chatRequest } from '../../bench/bodies.ts'
import { startUpstream } from '../../bench/targets.ts'
import { walkGateway } from '../../bench/walk-gateway.ts'

// The cost of one chat request in counts that do not depend on other work on the machine: `npm run bench` measures
// time, and only on a quiet machine. A more expensive change raises a number here, with the reason.

/** Upper limits for a charged, limited and logged chat of 1 KiB. */
const most: { readonly [figure: string]: number } = {
  // Every step of the path is awaited, even a synchronous one: an await costs one or two promises, and 0.1 µs.
  promises: 34,
  ticks: 8,
  // Some more on a busy machine, where fewer requests share a commit and its timer.
  timers: 6,
  // One to the upstream, one to the client.
  writes: 2.1,
  // Files and functions on its path: 140 and 646, and some more if fewer requests share a commit.
  files: 148,
  functions: 710,
  // 1,670 to 1,790, 84,600 to 92,600 and 1,385 to 1,463; higher on a busy machine, where fewer requests share a commit.
  // They were 1,287, 67,800 and 1,082 before every count of a vendor was kept, tools were found at any depth, the form
  // of each answer was judged, and the attempts of a request, its labels and the facts of its answer were kept.
  objects: 1_950,
  bytes: 100_000,
  calls: 1_500,
}

t.test('a chat enters no more files, and creates no more promises, writes, objects and calls than before', async t => {
  const stop = new AbortController()
  t.teardown(() => stop.abort())
  const folder = t.testdir()
  const upstream = await startUpstream({ folder, stop })
  const request = { path: '/v1/chat/completions', body: chatRequest('bench-chat', false), times: 200, heapRounds: 3 }
  const { figures } = await walkGateway(fileURLToPath(new URL('../..', import.meta.url)), folder, upstream, request)
  for (const [figure, bound] of Object.entries(most)) {
    const value = figures[figure] ?? Number.NaN
    t.ok(value <= bound, `${figure}: ${value.toFixed(1)}, at most ${bound}`)
    t.ok(value > 0, `${figure}: ${value.toFixed(1)}, or nothing was counted`)
  }
})
