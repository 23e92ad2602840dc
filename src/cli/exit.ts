import { safeLines } from './safe-text.ts'

/** Exit codes of the command line (`docs/cli.md`); scripts rely on them. */
export const exitCodes = { ok: 0, failure: 1, usage: 2, configInvalid: 3, noGateway: 4, nothingActive: 4 } as const

/** Ends a command with a code and a sentence for people. */
export class Exit extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.name = 'Exit'
    this.code = code
  }
}

/** The level numbers of the gateway's log. */
const levels = { info: 30, error: 50 } as const

let isForPrograms = false

/** Whether messages are records, one per line in the log's format, instead of text. */
export function writeRecords(isOn: boolean): void {
  isForPrograms = isOn
}

/** Whether standard error is a terminal, where progress may overwrite a line. */
export function isWatched(): boolean {
  return process.stderr.isTTY && !isForPrograms
}

/** Text for people; records with `--format json` and without a terminal. */
export function say(text: string, level: keyof typeof levels = 'info'): void {
  const record = (): string => JSON.stringify({ level: levels[level], time: Date.now(), msg: text.trim() })
  process.stderr.write(`${isForPrograms ? record() : safeLines(text)}\n`)
}

/** Data for programs. Programs get it unchanged; for a terminal, control characters are escaped. */
export function print(text: string): void {
  process.stdout.write(`${process.stdout.isTTY ? safeLines(text) : text}\n`)
}
