'use strict'

// Plain old JavaScript: it has to be readable by the Node it refuses. Preloaded by every script (`node -r`), and the
// first thing that the published command runs. A test keeps the number in step with package.json's engines.
var needed = '24.14.1'

function parts(version) {
  return version.split('.').map(Number)
}

var have = parts(process.versions.node)
var want = parts(needed)
var older = have[0] !== want[0] ? have[0] < want[0] : have[1] !== want[1] ? have[1] < want[1] : have[2] < want[2]

if (older) {
  process.stderr.write(
    'tollgate needs Node ' +
      needed +
      ' or newer, and this is ' +
      process.version +
      ' (' +
      process.execPath +
      ').\n' +
      'In a clone: `npm ci` (with install scripts on) brings the right Node into node_modules, and every npm script uses it.\n' +
      'Installed as a package: install Node 24 and put it first in PATH.\n',
  )
  process.exit(1)
}
