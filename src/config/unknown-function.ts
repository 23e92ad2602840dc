import { hookNames, pluginFunctions } from '../plugin-api/index.ts'
import { findNear, suggest } from './suggest.ts'

/** A function that is never called, and the name that was probably intended. */
export type UnknownFunction = { readonly name: string; readonly remedy: string | undefined }

/**
 * Finds a function that looks like a hook and is not one, among the hooks that a plugin created. Helpers are allowed.
 */
export function findUnknownHook(hooks: object): UnknownFunction | undefined {
  const name = functionsOf(hooks).find(
    one => !isOneOf(hookNames, one) && (/^on[A-Z]/.test(one) || findNear(one, hookNames)?.startsWith('on') === true),
  )
  return name === undefined ? undefined : { name, remedy: suggest(name, hookNames) }
}

/** Finds a function of a plugin whose name is similar to a valid one. */
export function findUnknownFunction(plugin: object): UnknownFunction | undefined {
  const known = [...pluginFunctions, ...hookNames]
  const name = functionsOf(plugin).find(one => !isOneOf(pluginFunctions, one) && findNear(one, known) !== undefined)
  if (name === undefined) return undefined
  const isHook = isOneOf(hookNames, findNear(name, known) ?? '')
  return { name, remedy: isHook ? 'hooks are returned by create()' : suggest(name, pluginFunctions) }
}

function isOneOf(names: readonly string[], name: string): boolean {
  return names.includes(name)
}

/** Names of an object's functions, including those of its class. */
function functionsOf(value: object): readonly string[] {
  const names = new Set<string>()
  for (let at: unknown = value; typeof at === 'object' && at !== null && at !== Object.prototype; ) {
    for (const [name, { value: member }] of Object.entries(Object.getOwnPropertyDescriptors(at)))
      if (typeof member === 'function' && name !== 'constructor') names.add(name)
    at = Object.getPrototypeOf(at)
  }
  return [...names]
}
