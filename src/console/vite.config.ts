import { pathToFileURL } from 'node:url'
import { defineConfig, type Plugin } from 'vite'

/** Of what is said of operations the console needs a small part: it is computed here, and only the data is bundled. */
const operations: Plugin = {
  name: 'operations-as-data',
  async load(id) {
    if (!/[\\/]src[\\/]operations[\\/]shown[.]ts$/.test(id)) return undefined
    const exported = Object.entries((await import(pathToFileURL(id).href)) as object)
    return exported.map(([name, value]) => `export const ${name} = ${JSON.stringify(value)}`).join('\n')
  },
}

export default defineConfig({
  root: import.meta.dirname,
  base: '/console/',
  plugins: [operations],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: '../../dist/console',
    emptyOutDir: true,
    target: 'es2023',
    // light-dark() stays as it is: the theme is one attribute, not two copies of every rule.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    // The page's policy allows no data: address in a style sheet.
    assetsInlineLimit: 0,
    modulePreload: false,
    // What is bundled keeps its notices.
    license: { fileName: 'licenses.md' },
  },
})
