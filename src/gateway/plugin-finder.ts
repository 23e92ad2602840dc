import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { registerHooks } from 'node:module'
import { isAbsolute, resolve as resolvePath } from 'node:path'
import { pathToFileURL } from 'node:url'
import { builtins, signers } from '../../plugins/index.ts'
import type { AnyPlugin, AnySigner, Plan } from '../kit/index.ts'

export { builtins }

/** The signing plugins that come with the gateway: all of them, for who tells of them. */
export function loadSigners(): Promise<readonly AnySigner[]> {
  return Promise.all(Object.values(signers).map(load => load()))
}

/** Finds plugins by the name that a pipeline gives: built in, brought along, or a package or path to import. */
export function pluginFinder(file: string, brought: readonly AnyPlugin[] = []) {
  const known = new Map([...builtins, ...brought].map(plugin => [plugin.name, plugin]))
  return {
    knownPlugins: [...known.keys()],
    knownSigners: Object.keys(signers),
    /** What signs for an upstream is loaded when an upstream names it. */
    async resolveSigner(name: string): Promise<AnySigner | undefined> {
      if (Object.hasOwn(signers, name)) return (signers[name] as () => Promise<AnySigner>)()
      if (!isOthers(name)) return undefined
      return readSigner((await importWatched(urlOf(name, file))) as { readonly default?: unknown })
    },
    async resolvePlugin(name: string): Promise<AnyPlugin | undefined> {
      const plugin = known.get(name)
      if (plugin) return plugin
      if (!isOthers(name)) return undefined
      return readPlugin((await importWatched(urlOf(name, file))) as { readonly default?: unknown })
    },
  }
}

/** A path, or a package whose name says that it is a plugin. */
function isOthers(name: string): boolean {
  return isPath(name) || name.includes('/') || name.startsWith('tollgate-')
}

function isPath(name: string): boolean {
  return name.startsWith('.') || isAbsolute(name)
}

/** @throws Error when there is no such package */
function urlOf(name: string, file: string): string {
  return isPath(name) ? pathToFileURL(resolvePath(file, '..', name)).href : findPackage(name, file)
}

/** Files that a module was loaded from, each with what was in it: code is loaded once in a process. */
const loaded = new Map<string, ReadonlyMap<string, string>>()

/** Imports a module, and remembers the files that it brought along. */
async function importWatched(url: string): Promise<unknown> {
  if (loaded.has(url)) return import(url)
  const files = new Set<string>()
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      const found = next(specifier, context)
      const isPart = specifier === url || (context.parentURL !== undefined && files.has(context.parentURL))
      if (isPart && found.url.startsWith('file:') && specifier !== 'tollgate') files.add(found.url)
      return found
    },
  })
  try {
    return await import(url)
  } finally {
    hooks.deregister()
    loaded.set(url, new Map(await Promise.all([...files].map(async one => [one, await digestOf(one)] as const))))
  }
}

/** Hex SHA-256 of a file; empty when it cannot be read. */
async function digestOf(url: string): Promise<string> {
  const content = await readFile(new URL(url)).catch(() => undefined)
  return content ? hash('sha256', content, 'hex') : ''
}

/** A sentence for each plugin of a plan whose files say something else than the code that runs. */
export async function changedCode(file: string, { pipeline }: Plan): Promise<readonly string[]> {
  const told: string[] = []
  for (const { plugin } of pipeline) {
    if (!isOthers(plugin)) continue
    for (const [url, digest] of loaded.get(urlOf(plugin, file)) ?? []) {
      if ((await digestOf(url)) === digest) continue
      told.push(`pipeline.${plugin}: its code has changed, and is not loaded until the next start`)
      break
    }
  }
  return told
}

/** Where a package is: as the configuration's folder sees it, else as the gateway does (both installed globally). */
function findPackage(name: string, file: string): string {
  const parentURL = pathToFileURL(resolvePath(file)).href
  // Without a flag `import.meta.resolve` heeds no parent; a hook for the length of this one call gives it one.
  const hooks = registerHooks({
    resolve: (specifier, around, next) => next(specifier, specifier === name ? { ...around, parentURL } : around),
  })
  try {
    return import.meta.resolve(name)
  } catch {
    // Looked for again below, whose error is the one to tell.
  } finally {
    hooks.deregister()
  }
  return import.meta.resolve(name)
}

/** @throws Error when the module is there and signs nothing */
function readSigner({ default: plugin }: { readonly default?: unknown }): AnySigner {
  const looks = typeof plugin === 'object' && plugin !== null && 'options' in plugin && 'create' in plugin
  if (looks && typeof plugin.create === 'function' && !('facet' in plugin)) return plugin as AnySigner
  throw new Error('its default export does not sign: export default defineSigner({ name, options, create })')
}

/** @throws Error when the module is there and holds no plugin */
function readPlugin({ default: plugin }: { readonly default?: unknown }): AnyPlugin {
  const looks = typeof plugin === 'object' && plugin !== null && 'name' in plugin && 'create' in plugin
  if (looks && typeof plugin.name === 'string' && typeof plugin.create === 'function') return plugin as AnyPlugin
  throw new Error('its default export is not a plugin: export default definePlugin({ name, create, … })')
}
