'use strict'

// Preloaded by every script (`node -r`), and the first thing that the published command runs.
var fault = require('./old-node.cjs')(process)

if (fault !== undefined) {
  process.stderr.write(fault + '\n')
  process.exit(1)
}
