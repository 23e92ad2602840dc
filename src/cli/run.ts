import { Exit, exitCodes, say, writeRecords } from './exit.ts'
import { createProgram } from './program.ts'

/** Common flags for the version, whatever the command line calls its own. */
const versionFlags = new Set(['-V', '-v', '--version'])

/** Runs one command and sets the exit code (`docs/cli.md`). */
export async function run(argv: readonly string[]): Promise<void> {
  try {
    writeRecords(asksForRecords(argv) && !process.stderr.isTTY)
    process.stdout.on('error', endOnOutputFault)
    // Messages that cannot be written, as on a full disk, end nothing.
    process.stderr.on('error', () => undefined)
    await createProgram().parseAsync(argv.map((word, i) => (i === 2 && versionFlags.has(word) ? 'version' : word)))
  } catch (error) {
    if (error instanceof Exit) {
      if (error.message !== '') say(error.message, 'error')
      process.exitCode = error.code
    } else if (isCommanderExit(error)) process.exitCode = error.exitCode === 0 ? exitCodes.ok : exitCodes.usage
    else {
      say(describe(error), 'error')
      process.exitCode = exitCodes.failure
    }
  }
}

/** Looks for `--format json` at any position: errors in the arguments use that format too. */
function asksForRecords(argv: readonly string[]): boolean {
  return argv.some((word, i) => word === '--format=json' || (word === '--format' && argv[i + 1] === 'json'))
}

/** Ends without an error when the reader of our output (`| head`) has ended; a full disk is an error. */
function endOnOutputFault(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') process.exit(exitCodes.ok)
  say(`standard output cannot be written, so it is incomplete: ${error.message}`, 'error')
  process.exit(exitCodes.failure)
}

/** A StorageError names its own remedy; for other errors, the name helps. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.name === 'StorageError' ? error.message : `${error.name}: ${error.message}`
}

function isCommanderExit(error: unknown): error is { readonly exitCode: number } {
  return error instanceof Error && 'exitCode' in error && 'code' in error && String(error.code).startsWith('commander.')
}
