import type { Fields } from './fields.ts'

const environment = /^os\.environ\/(.*)$/s
const variableName = /^[A-Za-z_]\w*$/

/** A value that may be the name of a variable, which the file itself may set. */
export type Setting =
  | { readonly kind: 'literal'; readonly text: string }
  | { readonly kind: 'variable'; readonly name: string }
  | { readonly kind: 'unreadable' }

/** Reads a value of the file, or the value of a variable that the file sets. */
export function readSetting(value: unknown, variables: Fields): Setting {
  if (typeof value !== 'string') return { kind: 'unreadable' }
  const name = environment.exec(value)?.[1]
  if (name === undefined) return { kind: 'literal', text: value }
  const set = variables[name]
  if (typeof set === 'string' && !environment.test(set)) return { kind: 'literal', text: set }
  return variableName.test(name) ? { kind: 'variable', name } : { kind: 'unreadable' }
}
