import type { Command, CommanderError } from 'commander'
import { createProgram } from '../../src/cli/program.ts'

/** `tollgate …` as pages write it: in blocks for a shell and between backticks. */
const line = /(?:^|[`(]|npx |npm run -s |\$ |&& |\| )tollgate(?: --)?((?: [^\n`&|;>#)\\]+)+)/g
const word = /"([^"]*)"|'([^']*)'|(\S+)/g

/** The command lines of a page, each as its words. Continued lines are joined. */
export function commandsOf(page: string): readonly (readonly string[])[] {
  const code = [...page.matchAll(/^```(?:sh|console)\n([^]*?)^```|(`tollgate [^`\n]+`)/gm)]
  return code
    .flatMap(([, block, span]) => [...(block ?? span ?? '').replaceAll('\\\n', ' ').matchAll(line)])
    .map(([, words = '']) =>
      [...words.replaceAll(/[[\]]/g, '').matchAll(word)].map(
        ([, double, single, bare]) => double ?? single ?? bare ?? '',
      ),
    )
}

/**
 * Returns why the command line could not run as written; undefined if it could. Nothing runs. A page may name a flag
 * without its value, and write a placeholder in capital letters.
 */
export function findCommandFault(words: readonly string[]): string | undefined {
  let command: Command = createProgram()
  let rest = words
  for (;;) {
    const next = command.commands.find(one => one.name() === rest[0] || one.aliases().includes(rest[0] ?? ''))
    if (!next) break
    command = next
    rest = rest.slice(1)
  }
  const subcommands = command.commands.map(one => one.name()).filter(name => name !== 'help')
  // A page may name a group of commands.
  if (rest.length === 0 || /^[A-Z]+$/.test(rest[0] ?? '')) return undefined
  try {
    command.exitOverride().configureOutput({ writeErr: () => undefined })
    const { operands, unknown } = command.parseOptions([...rest])
    const [option] = unknown.filter(one => one.startsWith('-') && !['--help', '-h'].includes(one))
    if (option !== undefined) return `unknown option ${option}`
    const most = command.registeredArguments
    const isOpen = most.some(({ variadic }) => variadic)
    if (most.length === 0 && operands.length > 0 && subcommands.length > 0) return `unknown command ${operands[0]}`
    if (!isOpen && operands.length > most.length) return `too many arguments: ${operands.join(' ')}`
  } catch (error) {
    const { code, message } = error as CommanderError
    return code === 'commander.optionMissingArgument' ? undefined : message
  }
  return undefined
}
