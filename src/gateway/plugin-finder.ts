import { registerHooks } from 'node:module'
import { isAbsolute, resolve as resolvePath } from 'node:path'
import { pathToFileURL } from 'node:url'
import { builtins } from '../../plugins/index.ts'
import type { AnyPlugin } from '../kit/index.ts'

export { builtins }

/** Finds plugins by the name that a pipeline gives: built in, brought along, or a package or path to import. */
export function pluginFinder(file: string, brought: readonly AnyPlugin[] = []) {
  const known = new Map([...builtins, ...brought].map(plugin => [plugin.name, plugin]))
  return {
    knownPlugins: [...known.keys()],
    async resolvePlugin(name: string): Promise<AnyPlugin | undefined> {
      const plugin = known.get(name)
      if (plugin) return plugin
      const isPath = name.startsWith('.') || isAbsolute(name)
      if (!isPath && !name.includes('/') && !name.startsWith('tollgate-')) return undefined
      const from = isPath ? pathToFileURL(resolvePath(file, '..', name)).href : findPackage(name, file)
      return readPlugin((await import(from)) as { readonly default?: unknown })
    },
  }
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

/** @throws Error when the module is there and holds no plugin */
function readPlugin({ default: plugin }: { readonly default?: unknown }): AnyPlugin {
  const looks = typeof plugin === 'object' && plugin !== null && 'name' in plugin && 'create' in plugin
  if (looks && typeof plugin.name === 'string' && typeof plugin.create === 'function') return plugin as AnyPlugin
  throw new Error('its default export is not a plugin: export default definePlugin({ name, create, … })')
}
