// A file that is named by its relative path is where it says, and TypeScript: Node need not look for it, nor for the package that it
// is in. That is a fifth of what it takes to load the gateway. Where the path is wrong, reading the file fails.
const { registerHooks } = require('node:module')

const ofSource = /^\.\.?\/.*\.ts$/

registerHooks({
  resolve: (name, context, next) =>
    ofSource.test(name) && context.parentURL?.startsWith('file:')
      ? { url: new URL(name, context.parentURL).href, format: 'module-typescript', shortCircuit: true }
      : next(name, context),
})
