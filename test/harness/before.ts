import { rm } from 'node:fs/promises'

// tap keeps the results of every file it ever ran; results of an earlier run would count as skips of this one.
await rm('.tap/test-results', { recursive: true, force: true })

// Builds the pages for browsers, and the gateway's validators, from the current sources.
await import('../../src/console/build.ts')
await import('../../src/tools/compile-schemas.ts')

// Lists the files that share a process.
const { writeTogether } = await import('./write-together.ts')
await writeTogether()
