import { configSchema } from '../../index.ts'
import { print } from '../exit.ts'

/** Prints the JSON Schema (draft-07) of the whole configuration, built-in plugins' sections included. */
export function printSchema(): void {
  print(JSON.stringify(configSchema(), null, 2))
}
