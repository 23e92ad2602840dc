import { writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Argument, Command, Option } from 'commander'
import { createProgram } from '../../src/cli/program.ts'
import { commandsBelow } from './cli-page.ts'

// `npm run docs` writes docs/tollgate.1 from the commands, for `man tollgate`; a test fails while the two differ.

export const manPagePath = join(resolve(import.meta.dirname, '../..'), 'docs/tollgate.1')

/** The manual in the macros of man(7), in ASCII only, which every formatter reads. */
export function writeManPage(): string {
  const program = createProgram()
  const commands = [...commandsBelow(program, 'tollgate')]
  return `${[
    '.\\" Written by `npm run docs` from the commands.',
    '.TH TOLLGATE 1 "" "Tollgate" "User Commands"',
    '.SH NAME',
    `tollgate \\- ${roff('a self-hosted gateway in front of AI models')}`,
    '.SH SYNOPSIS',
    '.B tollgate',
    '.I command',
    '.RI [ arguments ]',
    '.RI [ options ]',
    '.SH DESCRIPTION',
    roff(program.description()),
    '.PP',
    roff('Commands write data to standard output and messages to standard error.'),
    `With ${bold('--format json')} ${roff('commands print records. If standard error is not a terminal, messages are records too, one per line.')}`,
    '.PP',
    `${bold('tollgate help')} \\fIcommand\\fR and \\fIcommand\\fR ${bold('--help')} ${roff('print the help of one command.')}`,
    '.SH COMMANDS',
    ...commands.flatMap(({ name, command }) => describe(name, command)),
    '.SH EXIT STATUS',
    ...exits.flatMap(([code, what]) => ['.TP', `.B ${code}`, roff(what)]),
    '.SH ENVIRONMENT',
    ...environment.flatMap(([name, what]) => ['.TP', `.B ${roff(name)}`, roff(what)]),
    '.SH FILES',
    '.TP',
    '.I gateway.yaml',
    roff(
      'The configuration, in the working directory or at the path given with -c. It sets the storage that most commands use.',
    ),
    '.SH EXAMPLES',
    ...examples.flatMap(([what, ...lines]) => [
      '.PP',
      roff(what),
      '.PP',
      '.RS 4',
      '.nf',
      ...lines.map(roff),
      '.fi',
      '.RE',
    ]),
    '.SH SEE ALSO',
    roff('The documentation is in the folder docs of the package. Start with docs/README.md.'),
  ].join('\n')}\n`
}

const exits: readonly (readonly [code: number, what: string])[] = [
  [0, 'Success.'],
  [1, 'Failure.'],
  [2, 'Invalid command line.'],
  [3, 'The configuration is invalid.'],
  [4, 'No gateway is running, or no model of an import is active.'],
]

const environment: readonly (readonly [name: string, what: string])[] = [
  ['NO_COLOR', 'Set to any value: disable colors.'],
  ['PGPASSWORD', 'Password for PostgreSQL if the storage URL contains none.'],
  [
    'TOLLGATE_LISTEN, TOLLGATE_OPS, TOLLGATE_STORAGE',
    'Client address, operator address and storage URL, as used by the gateway.yaml in the package. A configuration can use any other variable as ${NAME}.',
  ],
]

const examples: readonly (readonly [what: string, ...lines: readonly string[]])[] = [
  ['Set up a folder and start the gateway:', 'tollgate init', 'tollgate serve'],
  ['Create a key and show the charges of all keys by day:', 'tollgate keys create --name first', 'tollgate usage'],
  ['Show what an image would cost:', 'tollgate explain image --model alpha-image-2 --size 2048x1152'],
  ['Back up the database and verify the ledger:', 'tollgate backup books.db', 'tollgate ledger verify'],
]

function describe(name: string, command: Command): readonly string[] {
  const alias = command.alias()
  const what = command.description()
  return [
    '.SS',
    ['tollgate', ...name.split(' ').slice(1)].map(bold).join(' ') + command.registeredArguments.map(show).join(''),
    ...(what === '' ? [] : [roff(`${what.charAt(0).toUpperCase()}${what.slice(1)}.`)]),
    ...(alias ? ['.PP', `${roff('The old name still works:')} ${bold(alias)}.`] : []),
    ...command.registeredArguments.flatMap(one => item(`\\fI${roff(one.name())}\\fR`, one)),
    ...command.options.flatMap(one => item(flagsOf(one.flags), one)),
  ]
}

function show(one: Argument): string {
  const shown = `\\fI${roff(one.name())}\\fR${one.variadic ? ' ...' : ''}`
  return one.required ? ` ${shown}` : ` [${shown}]`
}

function item(tag: string, { description, argChoices, ...one }: Argument | Option): readonly string[] {
  const { defaultValue } = one
  const choices = argChoices ? ` (${argChoices.join(', ')})` : ''
  const usual = typeof defaultValue === 'string' || typeof defaultValue === 'number' ? ` [${defaultValue}]` : ''
  const sentence = `${description}${choices}${usual}`
  return sentence === '' ? [] : ['.TP', tag, roff(`${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}.`)]
}

/** `-c, --config <file>`: literal input is bold, placeholders are italic. */
function flagsOf(flags: string): string {
  return flags
    .split(/( <[^>]+>|, )/)
    .filter(part => part !== '')
    .map(part => (part === ', ' ? part : part.startsWith(' <') ? ` \\fI${roff(part.slice(2, -1))}\\fR` : bold(part)))
    .join('')
}

function bold(text: string): string {
  return `\\fB${roff(text)}\\fR`
}

/** Escapes text: no escape sequence, no request at the beginning of a line, only ASCII. */
function roff(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll(/^[.']/gm, String.raw`\&$&`)
    .replaceAll(/\P{ASCII}/gu, char => `\\[u${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}]`)
}

if (import.meta.main) {
  await writeFile(manPagePath, writeManPage())
  process.stderr.write(`written: ${manPagePath}\n`)
}
