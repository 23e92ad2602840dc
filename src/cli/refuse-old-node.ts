import { createRequire } from 'node:module'

// The library loads this module first. It throws instead of ending the process: a program may work without the gateway.
const describeOldNode = createRequire(import.meta.url)('./old-node.cjs') as (
  running: NodeJS.Process,
) => string | undefined
const fault = describeOldNode(process)
if (fault !== undefined) throw new Error(fault)
