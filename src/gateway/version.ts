import { findPackage } from './package-root.ts'

/** The version of this file's package, regardless of the build's location. */
export async function readVersion(): Promise<string> {
  return (await findPackage()).version
}
