import { readVersion } from '../../index.ts'
import { print } from '../exit.ts'

export async function printVersion(): Promise<void> {
  print(await readVersion())
}
