/** The demands that a prompt may make of the simulated text upstream, with their descriptions. */
export const demands = {
  '[[status N]]':
    'refuse with status N (400 to 599); [[status 429 7]] says Retry-After: 7, 429 and 503 say 1 by default',
  '[[slow N]]': 'wait N milliseconds before the head',
  '[[pause N]]': 'wait N milliseconds before each event of a stream',
  '[[words N]]': 'answer with N words, 10000 at most',
  '[[cached N]]': 'report N of the input tokens as read from a cache',
  '[[written N]]':
    'report N of the input tokens as written to a cache; [[written 9 4]] reports 4 of 9 as kept for an hour',
  '[[audio N]]': 'report N of the input tokens as audio',
  '[[reasoning N]]': 'report N more output tokens, spent on reasoning',
  '[[searches N]]': 'report N web searches',
  '[[cut]]': 'break the connection off in the middle of the answer',
  '[[call NAME JSON]]':
    'call the tool NAME with the arguments JSON, an object; of several, the first that the request offers',
  '[[error-event]]': 'go wrong in the middle of a stream, in its own style; otherwise an error with status 200',
} as const

/** A tool call of the simulated model. */
export type ToolCall = { readonly name: string; readonly input: unknown }

/** The demands of a prompt, and the prompt without them. */
export type Marks = {
  readonly text: string
  readonly refusal: { readonly status: number; readonly retryAfterS: number | undefined } | undefined
  readonly slowMs: number
  readonly pauseMs: number
  readonly words: number | undefined
  readonly cachedTokens: number
  readonly writtenTokens: number
  readonly writtenHourTokens: number
  readonly audioTokens: number
  readonly reasoningTokens: number
  readonly searches: number
  /** Calls that the prompt demands; the first one whose tool the request offers is made. */
  readonly calls: readonly ToolCall[]
  readonly cut: boolean
  readonly errorEvent: boolean
}

const mark =
  /\[\[(status|slow|pause|words|cached|written|audio|reasoning|searches|cut|error-event)(?: (\d{1,5}))?(?: (\d{1,5}))?\]\]/g
const wordsMax = 10_000
const searchesMax = 20

/** Reads the demands of a prompt, which produce every fault of an upstream. The last demand of a kind counts. */
export function readMarks(prompt: string): Marks {
  const found = new Map([...prompt.matchAll(mark)].map(([, name = '', first, second]) => [name, { first, second }]))
  const { calls, rest } = readCalls(prompt)
  const number = (name: string): number | undefined => toNumber(found.get(name)?.first)
  const status = number('status')
  return {
    text: rest.replaceAll(mark, '').trim(),
    refusal:
      status !== undefined && status >= 400 && status <= 599
        ? { status, retryAfterS: toNumber(found.get('status')?.second) ?? (busy.has(status) ? 1 : undefined) }
        : undefined,
    slowMs: number('slow') ?? 0,
    pauseMs: number('pause') ?? 0,
    words: limit(number('words'), wordsMax),
    cachedTokens: number('cached') ?? 0,
    writtenTokens: number('written') ?? 0,
    writtenHourTokens: toNumber(found.get('written')?.second) ?? 0,
    audioTokens: number('audio') ?? 0,
    reasoningTokens: number('reasoning') ?? 0,
    searches: limit(number('searches'), searchesMax) ?? 0,
    calls,
    cut: found.has('cut'),
    errorEvent: found.has('error-event'),
  }
}

const callStart = '[[call '
const callEnd = '}]]'

/** The demanded tool calls, and the prompt without them. Calls whose arguments are not JSON are removed. */
function readCalls(prompt: string): { readonly calls: readonly ToolCall[]; readonly rest: string } {
  const calls: ToolCall[] = []
  let rest = ''
  let at = 0
  for (;;) {
    const start = prompt.indexOf(callStart, at)
    const end = start < 0 ? -1 : prompt.indexOf(callEnd, start)
    if (end < 0) return { calls, rest: rest + prompt.slice(at) }
    const [name, json] = splitOnce(prompt.slice(start + callStart.length, end + 1))
    try {
      calls.push({ name, input: JSON.parse(json) as unknown })
    } catch {
      // It is not a demand.
    }
    rest += prompt.slice(at, start)
    at = end + callEnd.length
  }
}

function splitOnce(text: string): readonly [string, string] {
  const at = text.indexOf(' ')
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
}

const busy = new Set([429, 503])

function toNumber(digits: string | undefined): number | undefined {
  return digits === undefined ? undefined : Number(digits)
}

function limit(count: number | undefined, max: number): number | undefined {
  return count === undefined ? undefined : Math.min(count, max)
}
