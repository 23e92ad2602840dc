#!/usr/bin/env node
import { enableCompileCache } from 'node:module'

// Enabled before anything else is loaded: it halves the time of the second start.
enableCompileCache()
const { run } = await import('./run.ts')
await run(process.argv)
