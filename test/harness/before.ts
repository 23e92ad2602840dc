import { rm } from 'node:fs/promises'

// tap keeps the results of every file it ever ran; those of an earlier run would be counted as this one's skips.
await rm('.tap/test-results', { recursive: true, force: true })

// Browsers get pages, and the gateway gets validators, of the sources as they are now.
await import('../../src/console/build.ts')
await import('../../src/tools/compile-schemas.ts')

// Files that share a process are listed as they are now.
const { writeTogether } = await import('./write-together.ts')
await writeTogether()
