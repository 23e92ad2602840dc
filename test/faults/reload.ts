import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { reloadUnderLoad } from './reload-under-load.ts'

// `npm run test:reload [RELOADS [SECONDS [RPS]]]`: a gateway is reloaded 1,000 times in 60 s at 200 requests a second and
// 20 streams (catalogue O1). One JSON object to standard output; anything dropped, or mixed of two, is exit 1.

const [reloads = 1_000, seconds = 60, rps = 200] = process.argv.slice(2).map(Number)
const folder = await mkdtemp(join(tmpdir(), 'tollgate-reload-'))
try {
  const figures = await reloadUnderLoad(folder, { reloads, seconds, rps, streams: 20 })
  process.stdout.write(`${JSON.stringify(figures)}\n`)
  if (figures.dropped.length + figures.mixed.length > 0) process.exitCode = 1
} finally {
  await rm(folder, { recursive: true, force: true })
}
