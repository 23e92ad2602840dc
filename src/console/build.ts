/**
 * Builds the console to dist/console, and the pages that the server renders of its parts to dist/pages. Vite comes with the
 * development packages: an installation without them is either of the published package, which carries the built files, or
 * one that goes without.
 */
const vite = await import('vite').catch((error: NodeJS.ErrnoException) => {
  if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error
})

if (vite) {
  const shared = { configFile: `${import.meta.dirname}/vite.config.ts`, logLevel: 'warn' } as const
  const built = await vite.build(shared)
  const sheets = [built]
    .flat()
    .flatMap(one => ('output' in one ? one.output : []))
    .map(({ fileName }) => fileName)
    .filter(name => name.endsWith('.css'))
  if (sheets.length !== 1) throw new Error(`one style sheet is for all pages: ${sheets.join(', ')}`)
  await vite.build({ ...shared, mode: 'ahead', define: { STYLE_SHEET: JSON.stringify(`/console/${sheets[0]}`) } })
} else {
  process.stderr.write('the console was not built: Vite is a development package (npm ci without --omit=dev)\n')
}
