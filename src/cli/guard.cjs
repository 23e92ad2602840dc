'use strict'

// Every npm script preloads this file (`node -r`), and the published command runs it first.
var fault = require('./old-node.cjs')(process)

if (fault !== undefined) {
  process.stderr.write(fault + '\n')
  process.exit(1)
}
