import { registerHooks } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'

const root = resolve(import.meta.dirname, '../..')
/** The maximum time of one file, like `timeout` in .taprc for a process. */
const fileMs = 240_000

/** The test that each file gets as `tap`, by the file's URL. */
const testOfFile = new Map<string, Test>()
/** The test that shared helpers get: that of the running file. */
let current: Test = t
const running = new Proxy(t, {
  get(_, name) {
    const value: unknown = Reflect.get(current, name)
    return typeof value === 'function' ? value.bind(current) : value
  },
})
Object.assign(globalThis, {
  [Symbol.for('tollgate.tap')]: (file: string): Test => testOfFile.get(file) ?? running,
})

registerHooks({
  resolve: (name, context, next) =>
    name === 'tap' && context.parentURL?.endsWith('.ts') && context.parentURL !== import.meta.url
      ? { url: writeModule(context.parentURL), format: 'module', shortCircuit: true }
      : next(name, context),
})

function writeModule(file: string): string {
  const code = `export default globalThis[Symbol.for('tollgate.tap')](${JSON.stringify(file)})`
  return `data:text/javascript,${encodeURIComponent(code)}`
}

/**
 * Runs test files one after the other in this process, each as a test with the file's name. Starting a process, loading
 * the gateway and starting its threads takes longer than many files do.
 * @param files paths in the repository
 */
export async function runTogether(files: readonly string[]): Promise<void> {
  t.setTimeout(fileMs * files.length)
  for (const file of files) {
    const before = readProcess()
    await t.test(file, { timeout: fileMs }, async t => {
      const url = pathToFileURL(resolve(root, file)).href
      current = t
      testOfFile.set(url, t)
      await import(url)
    })
    const after = readProcess()
    // The next file would run in a different environment than alone.
    if (after !== before) t.fail(`${file} leaves its process changed: ${after} instead of ${before}`)
  }
}

function readProcess(): string {
  return JSON.stringify([process.cwd(), Object.entries(process.env).toSorted(([a], [b]) => (a < b ? -1 : 1))])
}
