import { pathToFileURL } from 'node:url'
import { defineConfig, type Plugin, type UserConfig } from 'vite'

/**
 * The console needs few of the operations' traits: they are computed here, so that the bundle contains only the data.
 */
const operations: Plugin = {
  name: 'operations-as-data',
  async load(id) {
    if (!/[\\/]src[\\/]operations[\\/]shown[.]ts$/.test(id)) return undefined
    const exported = Object.entries((await import(pathToFileURL(id).href)) as object)
    return exported.map(([name, value]) => `export const ${name} = ${JSON.stringify(value)}`).join('\n')
  },
}

/**
 * The early script is separate: it loads before the scripts that show the answers. The build fails if it has to wait
 * for one of them.
 */
const early: Plugin = {
  name: 'early-script',
  transformIndexHtml: {
    order: 'post',
    handler(_html, { bundle = {} }) {
      const file = Object.values(bundle).find(one => one.type === 'chunk' && one.isEntry && one.name === 'early')
      const large = file?.type === 'chunk' && file.imports.find(name => !name.includes('/small-'))
      if (large) throw new Error(`early.ts imports ${large}: the names of its modules in \`small\` are incomplete`)
      const attrs = { type: 'module', async: true, crossorigin: true, src: `/console/${file?.fileName}` }
      return file ? [{ tag: 'script', attrs, injectTo: 'head-prepend' }] : []
    },
  },
}

/** Modules that small scripts use without the rest of the console. */
const small =
  /[\\/]src[\\/]console[\\/](?:api[\\/](?:prefetch|query-text)|pages[\\/]costs[\\/](?:costs-query|range|where)|words[\\/](?:addresses|languages|(?:en|zh)[.]json)|copy-text|remember|zone)\b(?!-)/

const shared: UserConfig = {
  root: import.meta.dirname,
  base: '/console/',
  plugins: [operations],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
}

/** Bundled code keeps its licence notices. */
const license = { fileName: 'licenses.md' } as const

/** The browser build. */
const console: UserConfig = {
  ...shared,
  plugins: [operations, early],
  build: {
    outDir: '../../dist/console',
    emptyOutDir: true,
    target: 'es2023',
    // Keeps light-dark(): a theme is one attribute instead of two copies of every rule.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    // The page's policy forbids data: addresses in a style sheet.
    assetsInlineLimit: 0,
    // The page lists all its scripts, so that the browser does not discover one only after another has loaded.
    modulePreload: { polyfill: false },
    // Each page loads its own scripts; the style sheet is shared.
    cssCodeSplit: false,
    rolldownOptions: {
      input: { index: 'index.html', early: 'early.ts', reference: 'reference.ts' },
      output: {
        codeSplitting: {
          groups: [
            { name: 'small', test: small, priority: 2 },
            { name: 'first', test: /^(?!.*(?:early|reference|main)[.]tsx?$)/, tags: ['$initial'], priority: 1 },
          ],
        },
      },
    },
    license,
  },
}

/** The server build: the pages without a required script, bundled so that they need no other package. */
const ahead: UserConfig = {
  ...shared,
  publicDir: false,
  ssr: { noExternal: true },
  build: {
    ssr: 'prerendered/index.tsx',
    outDir: '../../dist/pages',
    emptyOutDir: true,
    target: 'node24',
    rolldownOptions: { output: { entryFileNames: 'index.js' } },
    license,
  },
}

export default defineConfig(({ mode }) => (mode === 'ahead' ? ahead : console))
