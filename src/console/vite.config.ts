import { pathToFileURL } from 'node:url'
import { defineConfig, type Plugin, type UserConfig } from 'vite'

/** The console needs a small part of the operations' traits: it is computed here, and only the data is bundled. */
const operations: Plugin = {
  name: 'operations-as-data',
  async load(id) {
    if (!/[\\/]src[\\/]operations[\\/]shown[.]ts$/.test(id)) return undefined
    const exported = Object.entries((await import(pathToFileURL(id).href)) as object)
    return exported.map(([name, value]) => `export const ${name} = ${JSON.stringify(value)}`).join('\n')
  },
}

/** The early script is separate: it loads before the scripts that show the answers. */
const early: Plugin = {
  name: 'early-script',
  transformIndexHtml: {
    order: 'post',
    handler(_html, { bundle = {} }) {
      const file = Object.values(bundle).find(one => one.type === 'chunk' && one.isEntry && one.name === 'early')
      const attrs = { type: 'module', async: true, crossorigin: true, src: `/console/${file?.fileName}` }
      return file ? [{ tag: 'script', attrs, injectTo: 'head-prepend' }] : []
    },
  },
}

/** Loaded with small scripts too, which do not need the rest. */
const small =
  /[\\/]src[\\/]console[\\/](?:api[\\/](?:early|query-text)|pages[\\/]costs[\\/](?:asked|range|where)|words[\\/](?:addresses|languages|(?:en|zh)[.]json)|copy-text|remember|zone)\b(?!-)/

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
    // light-dark() stays as it is: the theme is one attribute, not two copies of every rule.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    // The page's policy allows no data: address in a style sheet.
    assetsInlineLimit: 0,
    // The page names every script that it needs: none is discovered only when another has loaded.
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

/** The server build: the pages that need no script, bundled, so that they need no further package. */
const ahead: UserConfig = {
  ...shared,
  publicDir: false,
  ssr: { noExternal: true },
  build: {
    ssr: 'ahead/index.tsx',
    outDir: '../../dist/pages',
    emptyOutDir: true,
    target: 'node24',
    rolldownOptions: { output: { entryFileNames: 'index.js' } },
    license,
  },
}

export default defineConfig(({ mode }) => (mode === 'ahead' ? ahead : console))
