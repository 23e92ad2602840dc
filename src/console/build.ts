/**
 * Builds the console to dist/console, and the pages that the server renders from its components to dist/pages. Vite is
 * a development package. An installation without it is either the published package, which contains the built files, or
 * has no console.
 */
const vite = await import('vite').catch((error: NodeJS.ErrnoException) => {
  if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error
})

if (vite) {
  const shared = { configFile: `${import.meta.dirname}/vite.config.ts`, logLevel: 'warn' } as const
  const built = await vite.build(shared)
  const files = [built].flat().flatMap(one => ('output' in one ? one.output : []))
  const addressOf = (what: string, found: typeof files): string => {
    const [only] = found
    if (!only || found.length > 1)
      throw new Error(`one ${what} is for all pages: ${found.map(one => one.fileName).join(', ')}`)
    return JSON.stringify(`/console/${only.fileName}`)
  }
  const sheet = files.filter(one => one.fileName.endsWith('.css'))
  const script = files.filter(one => one.type === 'chunk' && one.isEntry && one.name === 'reference')
  const define = {
    STYLE_SHEET: addressOf('style sheet', sheet),
    REFERENCE_SCRIPT: addressOf('script of the reference', script),
  }
  await vite.build({ ...shared, mode: 'ahead', define })
} else {
  process.stderr.write('the console was not built: Vite is a development package (npm ci without --omit=dev)\n')
}
