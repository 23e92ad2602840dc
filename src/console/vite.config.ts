import { defineConfig } from 'vite'

export default defineConfig({
  root: import.meta.dirname,
  base: '/console/',
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
