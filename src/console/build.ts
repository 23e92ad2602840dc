/**
 * Builds the console to dist/console. Vite comes with the development packages: an installation without them is either
 * of the published package, which carries the built files, or one that goes without the console.
 */
const vite = await import('vite').catch((error: NodeJS.ErrnoException) => {
  if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error
})
if (vite) await vite.build({ configFile: `${import.meta.dirname}/vite.config.ts`, logLevel: 'warn' })
else process.stderr.write('the console was not built: Vite is a development package (npm ci without --omit=dev)\n')
