import { readVersion } from '../../index.ts'
import { print } from '../exit.ts'

export async function printVersion({ format }: { readonly format: string }): Promise<void> {
  const version = await readVersion()
  print(format === 'json' ? JSON.stringify({ version, node: process.version }) : version)
}
