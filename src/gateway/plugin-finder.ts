import { registerHooks } from 'node:module'
import { isAbsolute, resolve as resolvePath } from 'node:path'
import { pathToFileURL } from 'node:url'
import { builtins, signers } from '../../plugins/index.ts'
import type { CompiledConfig } from '../domain/index.ts'
import type { AnyPlugin, AnySigner } from '../plugin-api/index.ts'
import { hasChanged, importPlugin } from './import-plugin.ts'

export { builtins }

/** All signing plugins of the gateway, for their descriptions. */
export function loadSigners(): Promise<readonly AnySigner[]> {
  return Promise.all(Object.values(signers).map(load => load()))
}

/** Finds plugins by their names in a pipeline: built-in or given ones, or packages and paths to import. */
export function pluginFinder(file: string, brought: readonly AnyPlugin[] = []) {
  const known = new Map([...builtins, ...brought].map(plugin => [plugin.name, plugin]))
  return {
    knownPlugins: [...known.keys()],
    knownSigners: Object.keys(signers),
    /** Loads a signing plugin if an upstream uses it. */
    async resolveSigner(name: string): Promise<AnySigner | undefined> {
      if (Object.hasOwn(signers, name)) return (signers[name] as () => Promise<AnySigner>)()
      if (!isOthers(name)) return undefined
      return readSigner(await importPlugin(urlOf(name, file)))
    },
    async resolvePlugin(name: string): Promise<AnyPlugin | undefined> {
      const plugin = known.get(name)
      if (plugin) return plugin
      if (!isOthers(name)) return undefined
      return readPlugin(await importPlugin(urlOf(name, file)))
    },
  }
}

/** Whether a name is a path, or a package whose name marks it as a plugin. */
function isOthers(name: string): boolean {
  return isPath(name) || name.includes('/') || name.startsWith('tollgate-')
}

function isPath(name: string): boolean {
  return name.startsWith('.') || isAbsolute(name)
}

/** @throws Error if there is no such package */
function urlOf(name: string, file: string): string {
  return isPath(name) ? pathToFileURL(resolvePath(file, '..', name)).href : findPackage(name, file)
}

/** A sentence for each plugin whose files on disk differ from the loaded code. */
export async function changedCode(file: string, { pipeline }: CompiledConfig): Promise<readonly string[]> {
  const changes: string[] = []
  for (const { plugin } of pipeline) {
    if (!isOthers(plugin)) continue
    if (await hasChanged(urlOf(plugin, file)))
      changes.push(`pipeline.${plugin}: its code has changed and is loaded at the next start`)
  }
  return changes
}

/** The location of a package, resolved from the configuration's folder, or from the gateway (if both are global). */
function findPackage(name: string, file: string): string {
  const parentURL = pathToFileURL(resolvePath(file)).href
  // Without a flag, `import.meta.resolve` ignores the parent, so a hook sets it during this one call.
  const hooks = registerHooks({
    resolve: (specifier, around, next) => next(specifier, specifier === name ? { ...around, parentURL } : around),
  })
  try {
    return import.meta.resolve(name)
  } catch {
    // The code below resolves it again, and reports the error.
  } finally {
    hooks.deregister()
  }
  return import.meta.resolve(name)
}

/** @throws Error if the module exists but exports no signing plugin */
function readSigner({ default: plugin }: { readonly default?: unknown }): AnySigner {
  const looks = typeof plugin === 'object' && plugin !== null && 'options' in plugin && 'create' in plugin
  if (looks && typeof plugin.create === 'function' && !('facet' in plugin)) return plugin as AnySigner
  throw new Error('its default export is not a signer: use export default defineSigner({ name, options, create })')
}

/** @throws Error if the module exists but exports no plugin */
function readPlugin({ default: plugin }: { readonly default?: unknown }): AnyPlugin {
  const looks = typeof plugin === 'object' && plugin !== null && 'name' in plugin && 'create' in plugin
  if (looks && typeof plugin.name === 'string' && typeof plugin.create === 'function') return plugin as AnyPlugin
  throw new Error('its default export is not a plugin: use export default definePlugin({ name, create, … })')
}
