import { configSchema } from '../../index.ts'
import { print } from '../exit.ts'

/** Prints the JSON Schema (draft-07) of the whole configuration, built-in plugins' sections included. */
export async function printSchema(): Promise<void> {
  print(JSON.stringify(await configSchema(), null, 2))
}
