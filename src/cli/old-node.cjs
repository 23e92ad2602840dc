'use strict'

// Old JavaScript, because the Node that it refuses must be able to parse it. A test compares the version with
// package.json's engines.
var needed = '24.14.1'

function parts(version) {
  return version.split('.').map(Number)
}

function isOlder(have, want) {
  return have[0] !== want[0] ? have[0] < want[0] : have[1] !== want[1] ? have[1] < want[1] : have[2] < want[2]
}

/** npm sets a variable for the packages that it omits; NODE_ENV has the same effect. */
function leavesOut(env) {
  return /\bdev\b/.test(env.npm_config_omit || '') || (env.NODE_ENV === 'production' && !env.npm_config_include)
}

/**
 * The reason why the Node of a process is too old, with a remedy for its environment; undefined if it is new enough.
 */
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
