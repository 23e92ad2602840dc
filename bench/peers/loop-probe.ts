import { createServer } from 'node:http'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { isMainThread } from 'node:worker_threads'

// Preloaded into a Node peer (`--import`): reports the delay of its event loop as a gateway's metrics do, on the port
// in BENCH_PROBE_PORT. Each request begins a new period.

const port = Number(process.env['BENCH_PROBE_PORT'])
if (isMainThread && port > 0) {
  const delay = monitorEventLoopDelay({ resolution: 10 })
  delay.enable()
  createServer((_req, res) => {
    // It measures the time between two ticks, with the requested resolution.
    const seconds = Math.max(0, delay.percentile(99) / 1e9 - 0.01)
    delay.reset()
    res.end(`event_loop_delay_seconds{quantile="0.99"} ${seconds}\n`)
  })
    .listen(port, '127.0.0.1')
    .unref()
}
