// A file that is named by its relative path is where it says, and its name says what it is. Node need not look for it, nor for the
// package that it is in: that is a fifth of what it takes to load the gateway. Where the path is wrong, reading the file fails.
// A package of ours is found once, not again for each of our files that imports it.
const { registerHooks } = require('node:module')

const ofSource = /^\.\.?\/.*\.ts$/
const ofModule = /^\.\.?\/.*\.mjs$/
const ofOthers = '/node_modules/'

const packages = new Map()

registerHooks({
  resolve: (name, context, next) => {
    const { parentURL } = context
    if (!parentURL?.startsWith('file:')) return next(name, context)
    if (ofSource.test(name)) return at(name, parentURL, 'module-typescript')
    if (ofModule.test(name) && parentURL.endsWith('.mjs')) return at(name, parentURL, 'module')
    // What a package is may depend on who asks, and how; of our own modules, on nothing.
    if (!parentURL.endsWith('.ts') || parentURL.includes(ofOthers) || !isPackage(name)) return next(name, context)
    let found = packages.get(name)
    if (!found) packages.set(name, (found = { ...next(name, context), shortCircuit: true }))
    return found
  },
})

function at(name, parentURL, format) {
  return { url: new URL(name, parentURL).href, format, shortCircuit: true }
}

function isPackage(name) {
  return !name.startsWith('.') && !name.startsWith('/') && !name.includes(':')
}
