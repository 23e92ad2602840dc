import { isAbsolute, resolve as resolvePath } from 'node:path'
import { pathToFileURL } from 'node:url'
import { builtins } from '../plugins/index.ts'
import type { AnyPlugin } from './kit/index.ts'

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
      const from = isPath
        ? pathToFileURL(resolvePath(file, '..', name)).href
        : import.meta.resolve(name, pathToFileURL(resolvePath(file)).href)
      const module = (await import(from)) as { default?: AnyPlugin }
      return module.default
    },
  }
}
