import { Exit, exitCodes, say } from './exit.ts'
import { createProgram } from './program.ts'

/** Runs one command and sets the exit code (`contract.md`). */
export async function run(argv: readonly string[]): Promise<void> {
  try {
    await createProgram().parseAsync([...argv])
  } catch (error) {
    if (error instanceof Exit) {
      if (error.message !== '') say(error.message)
      process.exitCode = error.code
    } else if (isCommanderExit(error)) process.exitCode = error.exitCode === 0 ? exitCodes.ok : exitCodes.usage
    else {
      say(error instanceof Error ? `${error.name}: ${error.message}` : String(error))
      process.exitCode = exitCodes.failure
    }
  }
}

function isCommanderExit(error: unknown): error is { readonly exitCode: number } {
  return error instanceof Error && 'exitCode' in error && 'code' in error && String(error.code).startsWith('commander.')
}
