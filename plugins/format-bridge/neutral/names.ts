import { createHash } from 'node:crypto'
import type { Conversation, Part, Tool, ToolChoice } from './conversation.ts'

/** Names of tools that every format accepts. */
const safeName = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/
/** Ids of calls that every format accepts. */
const safeId = /^[A-Za-z0-9_-]{1,40}$/

/**
 * The conversation with names and ids that every format accepts; and the clients' names, by the names that are sent.
 */
export function withSafeNames(conversation: Conversation): {
  readonly conversation: Conversation
  readonly names: ReadonlyMap<string, string>
} {
  const names = new Map<string, string>()
  const nameOf = (name: string): string => {
    if (safeName.test(name)) return name
    const sent = `${name.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 40)}_${digest(name)}`.replace(
      /^(?![A-Za-z_])/,
      't_',
    )
    names.set(sent, name)
    return sent
  }
  const tools = conversation.tools.map(tool => ({ ...tool, name: nameOf(tool.name) }))
  const turns = conversation.turns.map(turn => ({ ...turn, parts: turn.parts.map(part => rename(part, nameOf)) }))
  const { toolChoice } = conversation
  return {
    conversation: {
      ...conversation,
      tools,
      turns,
      ...(toolChoice && { toolChoice: renameChoice(toolChoice, nameOf) }),
    },
    names,
  }
}

function rename(part: Part, nameOf: (name: string) => string): Part {
  if (part.kind === 'call') return { ...part, id: safeCallId(part.id), name: nameOf(part.name) }
  if (part.kind !== 'result') return part
  return { ...part, id: safeCallId(part.id), ...(part.name !== undefined && { name: nameOf(part.name) }) }
}

function renameChoice(choice: ToolChoice, nameOf: (name: string) => string): ToolChoice {
  if (choice.kind === 'tool') return { ...choice, name: nameOf(choice.name) }
  return choice.kind === 'allowed' ? { ...choice, names: choice.names.map(nameOf) } : choice
}

/** Equal ids stay equal, so that calls and results still match. */
export function safeCallId(id: string): string {
  return safeId.test(id) ? id : `call_${digest(id)}`
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 20)
}

/** The names of tools by the ids of their calls, for formats whose results repeat the name. */
export function namesOfCalls({ turns }: Conversation): ReadonlyMap<string, string> {
  const calls = turns.flatMap(turn => turn.parts).filter(part => part.kind === 'call')
  return new Map(calls.map(({ id, name }) => [id, name]))
}

/** Not all vendors support a choice among several tools, so the list contains only the allowed ones. */
export function allowedTools({ tools, toolChoice }: Conversation): readonly Tool[] {
  return toolChoice?.kind === 'allowed' ? tools.filter(({ name }) => toolChoice.names.includes(name)) : tools
}
