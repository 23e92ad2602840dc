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

Commands write data to standard output and messages to standard error. Set \`NO_COLOR\` to disable colors.

| exit status | meaning |
|---|---|
| 0 | success |
| 1 | failure |
| 2 | invalid command line |
| 3 | the configuration is invalid |
| 4 | no gateway is running, or no model of an import is active |

With \`--format json\`, commands print records. If standard error is not a terminal, messages are records too, one per line, as in the
gateway's log: \`{"level":30,"time":…,"msg":"…"}\`. Level 50 is a failure.

\`npm run docs\` generates this page from the commands. Do not edit it.

${[...commandsBelow(program, 'tollgate')].map(({ name, command }) => describe(name, command)).join('\n')}`
}

/** The commands that have an action of their own. */
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
  const alias = command.alias() ? `\nThe old name still works: \`${command.alias()}\`.\n` : ''
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
