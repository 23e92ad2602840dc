import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { findPackageJSON, registerHooks } from 'node:module'

/**
 * The module for plugins that import `tollgate`: the running copy, regardless of its location and of whether it is a
 * package there.
 */
const door = new URL(import.meta.url.endsWith('.ts') ? '../index.ts' : '../index.js', import.meta.url).href

/** Modules of plugins, each with all files of its plugin. */
const parts = new Map<string, Set<string>>()
/** By plugin: its files, each with the digest of its content, because a process loads code only once. */
const loaded = new Map<string, ReadonlyMap<string, string>>()
let isFollowed = false

/** Imports the module of a plugin, and records the files that it loads. @throws Error if it cannot be loaded */
export async function importPlugin(url: string): Promise<{ readonly default?: unknown }> {
  if (!isFollowed) followPlugins()
  isFollowed = true
  const files = parts.get(url) ?? new Set([url])
  parts.set(url, files)
  try {
    return (await import(url)) as { readonly default?: unknown }
  } catch (error) {
    throw error instanceof SyntaxError ? await explainSyntax(error, url) : error
  } finally {
    if (!loaded.has(url))
      loaded.set(url, new Map(await Promise.all([...files].map(async one => [one, await digestOf(one)] as const))))
  }
}

/** Whether the files of a loaded plugin have changed. */
export async function hasChanged(url: string): Promise<boolean> {
  for (const [file, digest] of loaded.get(url) ?? []) if ((await digestOf(file)) !== digest) return true
  return false
}

/** From now on, `tollgate` resolves to the running copy in all modules of plugins, in later imports and `require`. */
function followPlugins(): void {
  registerHooks({
    resolve(specifier, context, next) {
      const files = context.parentURL === undefined ? undefined : parts.get(context.parentURL)
      if (!files) return next(specifier, context)
      if (specifier === 'tollgate') return { url: door, shortCircuit: true }
      if (specifier.startsWith('tollgate/')) return next(specifier, { ...context, parentURL: import.meta.url })
      const found = next(specifier, context)
      if (found.url.startsWith('file:')) {
        files.add(found.url)
        if (!parts.has(found.url)) parts.set(found.url, files)
      }
      return found
    },
  })
}

/** `npm init` writes `"type": "commonjs"`, and Node then rejects `import` in .js files. */
async function explainSyntax(error: SyntaxError, url: string): Promise<Error> {
  const settings = findPackageJSON(url)
  const text = settings === undefined ? undefined : await readFile(settings, 'utf8').catch(() => undefined)
  const isCommon = text !== undefined && (JSON.parse(text) as { readonly type?: unknown }).type === 'commonjs'
  if (!isCommon || !/\.[jt]s$/.test(url)) return error
  const remedy = `${settings} has "type": "commonjs": set "module" there, or let the file's name end in .m${url.slice(-2)}`
  return new SyntaxError(`${error.message}. ${remedy}`, { cause: error })
}

/** Hex SHA-256 of a file; empty if it is unreadable. */
async function digestOf(url: string): Promise<string> {
  const content = await readFile(new URL(url)).catch(() => undefined)
  return content ? hash('sha256', content, 'hex') : ''
}
