import type { CacheHint, Conversation, Part, Tool, Turn } from './neutral/index.ts'

const mark: CacheHint = { ttl: '5m' }
/** The number of marked user turns: at the earlier one, the vendor finds the prefix of the previous request. */
const turnsMarked = 2

/**
 * Marks the prefixes that the next request of a conversation repeats: the tools, the instructions, and the last user
 * turns. These are four marks, the maximum in a request. A client's own marks stay unchanged.
 */
export function withCacheMarks(conversation: Conversation): Conversation {
  const { tools, turns } = conversation
  if (tools.some(({ cache }) => cache) || turns.some(({ parts }) => parts.some(part => 'cache' in part && part.cache)))
    return conversation
  const leading = turns.findIndex(({ role }) => role !== 'system')
  const instructions = (leading === -1 ? turns.length : leading) - 1
  const users = turns.flatMap(({ role }, i) => (role === 'user' ? [i] : [])).slice(-turnsMarked)
  return {
    ...conversation,
    tools: tools.map((tool, i): Tool => (i === tools.length - 1 ? { ...tool, cache: mark } : tool)),
    turns: turns.map((turn, i) => (i === instructions || users.includes(i) ? markTurn(turn) : turn)),
  }
}

function markTurn(turn: Turn): Turn {
  const last = turn.parts.findLastIndex(takesMark)
  return { ...turn, parts: turn.parts.map((part, i): Part => (i === last ? ({ ...part, cache: mark } as Part) : part)) }
}

/** Whether a part can have a mark. Empty texts are not part of the upstream's request. */
function takesMark(part: Part): boolean {
  if (part.kind === 'text') return part.text.trim() !== ''
  return part.kind === 'media' || part.kind === 'result'
}
