import { writeLines } from './write-out.ts'

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

/** As the gateway's log numbers them. */
const levels = { info: 30, error: 50 } as const

let isForPrograms = false

/** Whether words are told as records, one a line and of the log's own shape, instead of as text. */
export function tellPrograms(isAsked: boolean): void {
  isForPrograms = isAsked
}

/** Whether somebody watches standard error, who may be shown something that moves. */
export function isWatched(): boolean {
  return process.stderr.isTTY && !isForPrograms
}

/** Words for people; records where `--format json` is asked for and nobody watches. */
export function say(text: string, level: keyof typeof levels = 'info'): void {
  const record = (): string => JSON.stringify({ level: levels[level], time: Date.now(), msg: text.trim() })
  process.stderr.write(`${isForPrograms ? record() : writeLines(text)}\n`)
}

/** Data for programs. What a program reads is as it is; a terminal is steered by none of it. */
export function print(text: string): void {
  process.stdout.write(`${process.stdout.isTTY ? writeLines(text) : text}\n`)
}
