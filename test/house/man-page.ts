import { writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Argument, Command, Option } from 'commander'
import { createProgram } from '../../src/cli/program.ts'
import { commandsBelow } from './cli-page.ts'

// `npm run docs` writes docs/tollgate.1 from the commands, for `man tollgate`; a test fails while the two differ.

export const manPagePath = join(resolve(import.meta.dirname, '../..'), 'docs/tollgate.1')

/** The manual in the macros of man(7), in ASCII alone: what every formatter reads. */
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
    roff('Data goes to standard output, words for people to standard error.'),
    `With ${bold('--format json')} ${roff('every command prints records, and what it says on standard error is a record a line too where that is no terminal.')}`,
    '.PP',
    `${bold('tollgate help')} \\fIcommand\\fR and \\fIcommand\\fR ${bold('--help')} ${roff('tell of one command what stands here.')}`,
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
      'The configuration: in the folder in which a command is run, or as -c names it. It names the storage that most commands work on.',
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
    roff('The documentation comes with the package, in its folder docs; docs/README.md is where it begins.'),
  ].join('\n')}\n`
}

const exits: readonly (readonly [code: number, what: string])[] = [
  [0, 'Done.'],
  [1, 'Failed.'],
  [2, 'Not understood.'],
  [3, 'The configuration is not valid.'],
  [4, 'No gateway runs, or nothing of an import is active.'],
]

const environment: readonly (readonly [name: string, what: string])[] = [
  ['NO_COLOR', 'Set to anything: no colours.'],
  ['PGPASSWORD', 'The password of a PostgreSQL whose address says none.'],
  [
    'TOLLGATE_LISTEN, TOLLGATE_OPS, TOLLGATE_STORAGE',
    'Where callers and operators reach the gateway, and where it keeps its books, as the gateway.yaml that comes with it reads them. A configuration may name any others as ${NAME}.',
  ],
]

const examples: readonly (readonly [what: string, ...lines: readonly string[]])[] = [
  ['A folder for a gateway, and the gateway:', 'tollgate init', 'tollgate serve'],
  ['A key, and what was charged with all keys, day by day:', 'tollgate keys create --name first', 'tollgate usage'],
  ['What a picture would cost:', 'tollgate explain image --model alpha-image-2 --size 2048x1152'],
  ['A copy of the books, and whether they hold:', 'tollgate backup books.db', 'tollgate ledger verify'],
]

function describe(name: string, command: Command): readonly string[] {
  const alias = command.alias()
  const what = command.description()
  return [
    '.SS',
    ['tollgate', ...name.split(' ').slice(1)].map(bold).join(' ') + command.registeredArguments.map(show).join(''),
    ...(what === '' ? [] : [roff(`${what.charAt(0).toUpperCase()}${what.slice(1)}.`)]),
    ...(alias ? ['.PP', `${roff('Its old name works too:')} ${bold(alias)}.`] : []),
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
  const told = `${description}${choices}${usual}`
  return told === '' ? [] : ['.TP', tag, roff(`${told.charAt(0).toUpperCase()}${told.slice(1)}.`)]
}

/** `-c, --config <file>`: what is typed is bold, what stands for something italic. */
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

/** Text as text: no escape, no request at the beginning of a line, no letter beyond ASCII. */
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
