import { bareProxies, shippedProxies } from '../harness/fronts.ts'
import { isRight, lineOf, walk } from '../harness/proxy-matrix.ts'

/** `npm run test:proxies`: runs every proxy, client and task, and prints what was bought, delivered and charged. */
let wrong = 0
let cells = 0
for (const proxy of [undefined, ...shippedProxies, ...bareProxies]) {
  const missing = proxy?.missing()
  if (missing) {
    console.log(`${proxy?.name}: left out, ${missing}`)
    continue
  }
  const stops: (() => unknown)[] = []
  const scope = { teardown: (stop: () => unknown) => void stops.push(stop) }
  try {
    for await (const cell of walk(scope, proxy)) {
      cells++
      if (!isRight(cell)) wrong++
      console.log(lineOf(cell))
    }
  } finally {
    for (const stop of stops.toReversed()) await stop()
  }
}
console.log(`${cells} cells, ${wrong} wrong`)
process.exitCode = wrong === 0 && cells > 0 ? 0 : 1
