import { replaceFile, WriteError } from '../index.ts'
import { Exit, exitCodes } from './exit.ts'

/**
 * Replaces a configuration in one step: a gateway that reads it gets the old text or the new one, never a part. Links
 * are followed, and mode and owner are kept. @throws Exit
 */
export async function replaceConfig(file: string, text: string): Promise<void> {
  try {
    await replaceFile(file, text)
  } catch (error) {
    if (!(error instanceof WriteError)) throw error
    throw new Exit(exitCodes.failure, `${file} cannot be written: ${error.message}. Nothing was written`)
  }
}
