import { InvalidArgumentError } from 'commander'
import type { Json } from '../index.ts'

/** @throws InvalidArgumentError for anything but a JSON object */
export function parseFields(text: string): { readonly [name: string]: Json } {
  try {
    const fields = JSON.parse(text) as Json
    if (typeof fields === 'object' && fields !== null && !Array.isArray(fields))
      return fields as { readonly [name: string]: Json }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  throw new InvalidArgumentError('expected a JSON object.')
}
