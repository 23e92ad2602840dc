import {
  budgetOf,
  compact,
  type Conversation,
  effortOf,
  type JsonObject,
  type Loss,
  nearestEffort,
  type UpstreamFacts,
} from '../neutral/index.ts'

/** The minimum budget that the vendor accepts. */
const budgetMin = 1024

type Thinking = { readonly thinking?: JsonObject | undefined; readonly effort?: string | undefined }

/** The settings of a request that make the model reason. */
export function writeThinking(
  conversation: Conversation,
  to: UpstreamFacts,
  maxTokens: number,
  losses: Loss[],
): Thinking {
  const { reasoning } = conversation
  // A request for only the state of thoughts does not make a model reason.
  if (!reasoning || Object.keys(reasoning).every(name => name === 'wantsSeal')) return {}
  const effort = effortOf(reasoning)
  if (effort === 'none')
    return to.reasoning === 'none' || to.reasoning === 'effort' ? {} : { thinking: { type: 'disabled' } }
  const lose = (): Thinking => {
    losses.push({ feature: 'reasoning' })
    return {}
  }
  if (to.reasoning === 'none') return lose()
  const named = effort === undefined ? undefined : nearestEffort(effort, to.efforts)
  if (to.reasoning === 'effort') return { effort: named }
  // The vendor refuses each of these together with thinking.
  if (isForced(conversation) || lacksThought(conversation, to)) return lose()
  if (to.reasoning === 'adaptive') {
    const display = reasoning.show === undefined ? undefined : reasoning.show === 'none' ? 'omitted' : 'summarized'
    return { thinking: compact({ type: 'adaptive', display }), effort: named }
  }
  const budget = Math.min(Math.max(budgetOf(reasoning) ?? budgetMin, budgetMin), maxTokens - 1)
  return budget < budgetMin ? lose() : { thinking: { type: 'enabled', budget_tokens: budget } }
}

function isForced({ toolChoice }: Conversation): boolean {
  return (
    toolChoice?.kind === 'required' ||
    toolChoice?.kind === 'tool' ||
    (toolChoice?.kind === 'allowed' && toolChoice.isRequired)
  )
}

/** Whether the last step has calls of another vendor, or calls whose thoughts the client has not returned. */
function lacksThought({ turns }: Conversation, to: UpstreamFacts): boolean {
  const last = turns.findLast(turn => turn.role === 'assistant')
  if (!last?.parts.some(part => part.kind === 'call')) return false
  const since = turns.slice(turns.lastIndexOf(last) + 1)
  const isStep = since.some(turn => turn.parts.some(part => part.kind === 'result'))
  return isStep && !last.parts.some(part => part.kind === 'thought' && part.seal?.issuer === to.issuer)
}
