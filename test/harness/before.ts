import { spawnSync } from 'node:child_process'
import { rm } from 'node:fs/promises'

// tap keeps the results of every file it ever ran; those of an earlier run would be counted as this one's skips.
await rm('.tap/test-results', { recursive: true, force: true })

// Browsers get pages, and the gateway gets validators, of the sources as they are now.
await import('../../src/console/build.ts')
await import('../../src/tools/compile-schemas.ts')

// The processes of tests load the sources in few files. Their code is kept as the first process compiled it: one that uses most of it.
const { bundleSources } = await import('./bundle.ts')
if (await bundleSources())
  spawnSync(process.execPath, ['--require', './test/harness/preload.cjs', 'test/harness/warm-up.ts'], {
    stdio: 'inherit',
  })
