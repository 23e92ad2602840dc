// Loaded into every test file first (.taprc). tap puts its hooks for coverage into each of them, and into every thread and
// process started there, even where nothing is counted: they read each source once more and resolve its source map, which
// took up to two thirds of all CPU. Here they are left out, unless coverage is counted (`npm run coverage`).
const { enableCompileCache, registerHooks } = require('node:module')
const path = require('node:path')
const { useMemoryFolder } = require('./memory-folder.cjs')
const { pathToFileURL } = require('node:url')

const fastImports = path.join(__dirname, 'fast-imports.cjs')
const counted = process.env['_TAPJS_PROCESSINFO_COVERAGE_']

// Every test file loads hundreds of sources, and so does the thread of each storage that it opens: types are stripped and code
// compiled once for all of them, which was a third of what was left. What is kept goes by the text of a source.
// Processes that a test starts are told too: what runs its commands is ended by SIGKILL, and would compile everything each time.
if (counted !== '1') {
  const compiled = path.join(__dirname, '../../node_modules/.cache/tests')
  enableCompileCache(compiled)
  process.env['NODE_COMPILE_CACHE'] ??= compiled
}

useMemoryFolder()

// tap ends a file that takes too long by a signal. What a file does when it exits, such as to end the gateways and servers that it
// started, is done then too: they would run on, and slow down every file after it.
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
  // Gateways and commands that a test starts load their sources as fast, unless it gives them options of their own.
  process.env['NODE_OPTIONS'] = [given, `--require=${JSON.stringify(fastImports)}`].filter(Boolean).join(' ')
  // Processes that are forked take these words over.
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
  // Asked before the hooks above, as the last ones that are registered.
  require(fastImports)
}
