/** Exit codes of the command line (`docs/cli.md`); scripts rely on them. */
export const exitCodes = { ok: 0, failure: 1, usage: 2, configInvalid: 3, noGateway: 4 } as const

/** Ends a command with a code and a sentence for people. */
export class Exit extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.name = 'Exit'
    this.code = code
  }
}

/** Words for people. */
export function say(text: string): void {
  process.stderr.write(`${text}\n`)
}

/** Data for programs. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`)
}
