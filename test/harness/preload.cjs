// Every test file loads this first (.taprc). tap adds its coverage hooks to each file, and to every thread and process
// started there, even without coverage: the hooks read each source again and resolve its source map, which took up to
// two thirds of all CPU time. This leaves them out unless coverage is counted (`npm run coverage`).
const { enableCompileCache, registerHooks } = require('node:module')
const path = require('node:path')
const { useMemoryFolder } = require('./memory-folder.cjs')
const { pathToFileURL } = require('node:url')

const fastImports = path.join(__dirname, 'fast-imports.cjs')
const counted = process.env['_TAPJS_PROCESSINFO_COVERAGE_']

// Every test file loads hundreds of sources, and so does the thread of each storage. A cache keeps code without types
// and compiled, by the text of its source; without it this took a third of the remaining time. Processes that a test
// starts use the cache too: processes that run commands end by SIGKILL, and would compile everything each time.
if (counted !== '1') {
  const compiled = path.join(__dirname, '../../node_modules/.cache/tests')
  enableCompileCache(compiled)
  process.env['NODE_COMPILE_CACHE'] ??= compiled
}

useMemoryFolder()

// tap ends a file that takes too long by a signal. This runs the file's exit handlers first, which end the gateways and
// servers that it started: otherwise they would continue, and slow down every later file.
const kill = process.kill.bind(process)
process.kill = (pid, signal) => {
  if (pid === process.pid && /^SIG(?:ALRM|TERM|INT|HUP)$/.test(signal)) {
    process.kill = kill
    process.emit('exit', 1)
  }
  return kill(pid, signal)
}

if (counted === '0') {
  const ofHooks = /@tapjs\/processinfo\/.*\bimport\.mjs$/
  const ofCounting = /^--enable-source-maps$|\/preload\.cjs$/
  const given = process.env['NODE_OPTIONS']?.replace(/"?--import=[^"\s]*@tapjs\/processinfo\/[^"\s]*"?/, '').trim()
  // Gateways and commands that a test starts load their sources as fast, unless the test sets options for them.
  process.env['NODE_OPTIONS'] = [given, `--require=${JSON.stringify(fastImports)}`].filter(Boolean).join(' ')
  // Forked processes inherit these arguments.
  process.execArgv = process.execArgv.filter(word => !ofHooks.test(word) && !ofCounting.test(word))
  process.setSourceMapsEnabled(false)
  const strayErrors = pathToFileURL(path.join(__dirname, 'stray-errors.mjs')).href
  registerHooks({
    resolve: (name, context, next) => {
      if (ofHooks.test(name)) return { url: 'data:text/javascript,', format: 'module', shortCircuit: true }
      if (name === 'async-hook-domain') return { url: strayErrors, format: 'module', shortCircuit: true }
      return next(name, context)
    },
  })
  // Loaded last: hooks that are registered last run first.
  require(fastImports)
}
