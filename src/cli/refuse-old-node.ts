import { createRequire } from 'node:module'

// The first thing that the library loads. It throws, and does not end the process: a program may do without the gateway.
const describeOldNode = createRequire(import.meta.url)('./old-node.cjs') as (
  running: NodeJS.Process,
) => string | undefined
const fault = describeOldNode(process)
if (fault !== undefined) throw new Error(fault)
