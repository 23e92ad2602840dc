import { Session } from 'node:inspector/promises'
import { createServer } from 'node:http'
import { isMainThread } from 'node:worker_threads'

// Loaded before a gateway that `flame.ts` profiles: `/start` begins a CPU profile of its main thread, `/stop` answers
// with it. The sampling interval in microseconds is in BENCH_PROFILE_MICROS, the port in BENCH_PROFILE_PORT.

const port = Number(process.env['BENCH_PROFILE_PORT'])
if (isMainThread && port > 0) {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.setSamplingInterval', { interval: Number(process.env['BENCH_PROFILE_MICROS'] ?? 500) })
  createServer(
    (req, res) =>
      void (req.url === '/start'
        ? session.post('Profiler.start').then(() => res.end())
        : session.post('Profiler.stop').then(({ profile }) => res.end(JSON.stringify(profile)))),
  )
    .listen(port, '127.0.0.1')
    .unref()
}
