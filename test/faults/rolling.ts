import { rollingRestart } from './rolling-restart.ts'
import { runScript } from './run-script.ts'

// `npm run test:rolling [CYCLES [RPS]]`: restarts three gateways with nginx in front one after the other, in 10 cycles,
// at 100 requests per second (O6). One JSON object to standard output; any effect on a client is exit 1.

const [cycles = 10, rps = 100] = process.argv.slice(2).map(Number)
await runScript(async t => {
  const figures = await rollingRestart(t, { cycles, rps, drainWait: '10s' })
  return { ...figures, violations: [...Object.keys(figures.errors), ...figures.exits, ...figures.problems] }
})
