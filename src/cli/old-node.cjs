'use strict'

// Plain old JavaScript: it has to be readable by the Node it refuses. A test keeps the number in step with package.json's
// engines.
var needed = '24.14.1'

function parts(version) {
  return version.split('.').map(Number)
}

function isOlder(have, want) {
  return have[0] !== want[0] ? have[0] < want[0] : have[1] !== want[1] ? have[1] < want[1] : have[2] < want[2]
}

/** npm sets a variable for what it leaves out; NODE_ENV makes it leave out the same. */
function leavesOut(env) {
  return /\bdev\b/.test(env.npm_config_omit || '') || (env.NODE_ENV === 'production' && !env.npm_config_include)
}

/** Why the Node of a process is too old, with the remedy that works where it runs; undefined for one that is not. */
module.exports = function describeOldNode(running) {
  if (!isOlder(parts(running.versions.node), parts(needed))) return undefined
  var fault =
    'tollgate needs Node ' + needed + ' or newer, and this is ' + running.version + ' (' + running.execPath + ').\n'
  if (leavesOut(running.env))
    return (
      fault +
      'Without the development packages (--omit=dev) no Node comes along: install Node 24 and put it first in PATH, or run\n' +
      '`npm ci` with them, which brings the right Node into node_modules.'
    )
  return (
    fault +
    'In a clone: `npm ci` (with install scripts on) brings the right Node into node_modules, and every npm script uses it.\n' +
    'With --omit=dev, or installed as a package: install Node 24 and put it first in PATH.'
  )
}
