import { rollingRestart } from './rolling-restart.ts'

// `npm run test:rolling [CYCLES [RPS]]`: three gateways behind nginx are restarted one after the other, 10 times around,
// at 100 requests a second (catalogue O6). One JSON object to standard output; anything that a client noticed is exit 1.

const [cycles = 10, rps = 100] = process.argv.slice(2).map(Number)
const stops: (() => unknown)[] = []
try {
  const t = { teardown: (stop: () => unknown) => void stops.push(stop) }
  const figures = await rollingRestart(t, { cycles, rps, drainWait: '10s' })
  process.stdout.write(`${JSON.stringify(figures)}\n`)
  if (Object.keys(figures.errors).length + figures.exits.length + figures.problems.length > 0) process.exitCode = 1
} finally {
  for (const stop of stops.toReversed()) await stop()
}
