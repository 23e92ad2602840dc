import { findPackage } from './package-root.ts'

/** The version of the package that this file belongs to, wherever it has been built to. */
export async function readVersion(): Promise<string> {
  return (await findPackage()).version
}
