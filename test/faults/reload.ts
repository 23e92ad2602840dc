import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { reloadUnderLoad } from './reload-under-load.ts'
import { runScript } from './run-script.ts'

// `npm run test:reload [RELOADS [SECONDS [RPS]]]`: a gateway is reloaded 1,000 times in 60 s at 200 requests per second
// and 20 streams (O1). One JSON object to standard output; a dropped request, or one with two configurations, is exit
// 1.

const [reloads = 1_000, seconds = 60, rps = 200] = process.argv.slice(2).map(Number)
await runScript(async t => {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-reload-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const figures = await reloadUnderLoad(folder, { reloads, seconds, rps, streams: 20 })
  return { ...figures, violations: [...figures.dropped, ...figures.mixed] }
})
