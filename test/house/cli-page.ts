import { writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import { createProgram } from '../../src/cli/program.ts'

// `npm run docs` writes docs/cli.md from the commands; a test fails while the two differ.

export const cliPagePath = join(resolve(import.meta.dirname, '../..'), 'docs/cli.md')

/** Every command with its arguments and flags. */
export function writeCliPage(): string {
  const program = createProgram()
  return `# tollgate

Data goes to standard output, words for people to standard error. Exit: 0 done, 1 failed, 2 not understood, 3 the
configuration is not valid, 4 no gateway runs, or nothing of an import is active. \`NO_COLOR\` is heeded.

With \`--format json\` every command prints records, and what it says on standard error is a record a line too where that is no
terminal: \`{"level":30,"time":…,"msg":"…"}\`, as in the gateway's log; level 50 is a failure.

This page is written by \`npm run docs\` from the commands.

${[...commandsBelow(program, 'tollgate')].map(({ name, command }) => describe(name, command)).join('\n')}`
}

/** Those that do something by themselves. */
export function* commandsBelow(
  command: Command,
  name: string,
): Generator<{ readonly name: string; readonly command: Command }> {
  for (const child of command.commands) {
    const own = `${name} ${child.name()}`
    const works = child.commands.length === 0 || child.registeredArguments.length > 0 || child.options.length > 0
    if (works) yield { name: own, command: child }
    yield* commandsBelow(child, own)
  }
}

function describe(name: string, command: Command): string {
  const shown = command.registeredArguments.map(one => {
    const many = `${one.name()}${one.variadic ? '…' : ''}`
    return one.required ? ` <${many}>` : ` [${many}]`
  })
  const rows = [
    ...command.registeredArguments.map(one => [one.name(), one.description, choicesOf(one.argChoices)]),
    ...command.options.map(one => [
      one.flags,
      one.description,
      choicesOf(one.argChoices) + defaultOf(one.defaultValue),
    ]),
  ].map(([flags = '', what = '', more = '']) => `| \`${flags}\` | ${escape(what + more)} |`)
  const table = rows.length > 0 ? `\n| | |\n|---|---|\n${rows.join('\n')}\n` : ''
  const alias = command.alias() ? `\nIts old name works too: \`${command.alias()}\`.\n` : ''
  return `## \`${name}${shown.join('')}\`\n\n${escape(sentence(command.description()))}\n${alias}${table}`
}

function choicesOf(choices: readonly string[] | undefined): string {
  return choices ? ` (${choices.join(', ')})` : ''
}

function defaultOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? ` [${value}]` : ''
}

function sentence(text: string): string {
  return text === '' ? '' : `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}

function escape(text: string): string {
  return text.replaceAll('|', String.raw`\|`).replaceAll('<', '&lt;')
}

if (import.meta.main) {
  await writeFile(cliPagePath, writeCliPage())
  process.stderr.write(`written: ${cliPagePath}\n`)
}
