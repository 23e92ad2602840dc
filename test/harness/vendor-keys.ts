import { readFile } from 'node:fs/promises'
import type { Test } from 'tap'
import { type CliResult, runCli } from './cli.ts'
import { type Started, start, type StartOptions } from './start.ts'
import type { Upstream } from './upstream.ts'

export const chatAnswer = {
  id: 'c1',
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
}
export const chatRequest = { model: 'sim-chat', messages: [{ role: 'user' as const, content: 'hi' }] }
export const badKey: Refusal = [401, { error: { message: 'Incorrect API key', code: 'invalid_api_key' } }]

type Refusal = readonly [status: number, body: object, headers?: { readonly [name: string]: string }]

/** Two keys; their secrets end in `one` and `two`. */
export const twoKeys =
  'first: { value: "vendor-secret-of-alpha-one", weight: 3 }, second: { value: "vendor-secret-of-alpha-two" }'

export type Keyed = Started & {
  readonly vendor: Upstream
  /** Refusals by the last word of the key's secret; other keys get answers. */
  readonly refused: Map<string, Refusal>
  /** The number of requests with a key. */
  readonly callsOf: (word: string, method?: string) => number
  /** Requests a conversation, and reads its answer. */
  readonly chat: (content?: string) => Promise<number>
  /** Resolves when a key is next probed for free. */
  readonly tried: () => Promise<void>
  /** Runs `tollgate …` in a process of its own, with the same keys. */
  readonly tollgate: (...args: readonly string[]) => Promise<CliResult>
}

/** Edits that give the shipped configuration's upstream for chat several keys. */
export function keyedEdit(keys = twoKeys): readonly [string, string] {
  return [
    'credential: { header: authorization, value: "Bearer ${TEXT_API_KEY:-}" }',
    `credential: { header: authorization, value: "Bearer {key}" }\n    keys: { ${keys} }`,
  ]
}

/** A gateway whose upstream for chat has several keys. */
export async function startKeyed(
  t: Pick<Test, 'teardown'>,
  { keys, edit = [], ...options }: StartOptions & { readonly keys?: string } = {},
): Promise<Keyed> {
  const started = await start(t, { ...options, edit: [keyedEdit(keys), ...edit] })
  const vendor = started.upstreams['text'] as Upstream
  const refused = new Map<string, Refusal>()
  const waiting: (() => void)[] = []
  const wordOf = (header: unknown): string => /-(\w+)$/.exec(String(header))?.[1] ?? ''
  vendor.answer((res, { method, headers }) => {
    const [status, body, more] = refused.get(wordOf(headers.authorization)) ?? [200, chatAnswer]
    res.writeHead(status, { 'content-type': 'application/json', ...more }).end(JSON.stringify(body))
    if (method === 'GET') for (const tell of waiting.splice(0)) tell()
  })
  return {
    ...started,
    vendor,
    refused,
    callsOf: (word, method = 'POST') =>
      vendor.received.filter(one => one.method === method && wordOf(one.headers.authorization) === word).length,
    async chat(content) {
      const fields = content === undefined ? {} : { messages: [{ role: 'user', content }] }
      const answer = await started.post('/v1/chat/completions', { ...chatRequest, ...fields })
      await answer.arrayBuffer()
      return answer.status
    },
    tried: () => new Promise(resolve => void waiting.push(resolve)),
    async tollgate(...args) {
      const shipped = await readFile(new URL('../../gateway.yaml', import.meta.url), 'utf8')
      const place = { folder: started.folder, yaml: shipped.replace(...keyedEdit(keys)) }
      const env = { TEXT_URL: vendor.url, TOLLGATE_OPS: new URL(started.opsUrl).host }
      return runCli({ ...place, env }, ...args)
    },
  }
}
