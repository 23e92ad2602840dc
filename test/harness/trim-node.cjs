// Last step of `npm ci`. The package `node` installs that of its platform in its own folder, and links its program into `bin`. The
// rest is not used: 68 MB of headers and pages.
const { lstatSync, rmSync } = require('node:fs')
const path = require('node:path')

const home = path.resolve(__dirname, '../../node_modules/node')
const program = lstatSync(path.resolve(home, 'bin/node'), { throwIfNoEntry: false })
if (program?.isFile() && program.size > 1_000_000)
  rmSync(path.resolve(home, 'node_modules'), { recursive: true, force: true })
