import { findPackage } from './package-root.ts'

/** The version of the package of this file, wherever it was built to. */
export async function readVersion(): Promise<string> {
  return (await findPackage()).version
}
