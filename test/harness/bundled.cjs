// Loaded into test files by preload.cjs, and from there into the threads and Node processes that they start (NODE_OPTIONS): a source
// is taken from the bundle that bundle.ts made. If any source has changed since, all are read where they are.
const { readFileSync, statSync } = require('node:fs')
const { registerHooks, SourceMap } = require('node:module')
const path = require('node:path')
const { pathToFileURL } = require('node:url')

const root = path.resolve(__dirname, '../..')
const current = path.join(root, 'node_modules/.cache/bundle/current.json')
// These put faults into sources as they are loaded, or count what a source does.
const ofSources = /\/test\/(?:simulate|growth|mutation)\//

/** Uses the bundle, here and in all processes that are started from now on, if all sources are as they were bundled. */
exports.useIfFresh = () => {
  const bundle = read()
  if (!bundle || !Object.entries(bundle.files).every(isUnchanged)) return
  process.env.TEST_BUNDLE = bundle.folder
  const ours = `--require=${JSON.stringify(__filename)}`
  process.env.NODE_OPTIONS = [process.env.NODE_OPTIONS, ours].filter(Boolean).join(' ')
  use(bundle)
}

// Of an older Node, such as that of npm, there is nothing to load.
if (registerHooks && process.env.TEST_BUNDLE) {
  const bundle = read()
  if (bundle?.folder === process.env.TEST_BUNDLE) use(bundle)
}

function read() {
  if (ofSources.test(process.argv[1] ?? '')) return
  try {
    return JSON.parse(readFileSync(current, 'utf8'))
  } catch {}
}

function isUnchanged([file, [changed, bytes]]) {
  const found = statSync(path.join(root, file), { throwIfNoEntry: false })
  return found?.ctimeMs === changed && found.size === bytes
}

function use({ folder, modules }) {
  const home = pathToFileURL(`${root}/`).href
  const bundled = pathToFileURL(`${folder}/`).href
  const inside = new Set(modules)
  registerHooks({
    resolve: (name, context, next) => {
      if (!name.endsWith('.ts')) return next(name, context)
      const isRelative = /^\.\.?\//.test(name) && context.parentURL?.startsWith('file:')
      const href = isRelative ? new URL(name, context.parentURL).href : name
      if (!href.startsWith(home) || !inside.has(href.slice(home.length))) return next(name, context)
      return { url: `${bundled}${href.slice(home.length)}.mjs`, format: 'module', shortCircuit: true }
    },
  })
  nameSources(bundled)
}

/** Stacks name sources. The maps are large, so they are read when a stack is. */
function nameSources(bundled) {
  const maps = new Map()
  const placeOf = (file, frame) => {
    if (!maps.has(file)) maps.set(file, new SourceMap(JSON.parse(readFileSync(new URL(`${file}.map`), 'utf8'))))
    const { fileName, lineNumber, columnNumber } = maps
      .get(file)
      .findOrigin(frame.getLineNumber(), frame.getColumnNumber())
    return fileName && `${new URL(fileName, file).href}:${lineNumber}:${columnNumber}`
  }
  const write = frame => {
    const file = frame.getFileName()
    const text = String(frame)
    const place = file?.startsWith(bundled) ? placeOf(file, frame) : undefined
    return place ? text.replace(/file:[^)]*/, place) : text
  }
  Error.prepareStackTrace = (error, frames) =>
    [Error.prototype.toString.call(error), ...frames.map(write)].join('\n    at ')
}
