import { type Edits, start } from '../harness/start.ts'

export type ClientGateway = {
  readonly url: string
  readonly key: string
  /** A key of a group with one request per minute, already used: requests with it within a minute are refused. */
  readonly newSpentKey: () => Promise<string>
  /** Number of requests so far, including refused ones, without those that used up the limit. */
  readonly requests: () => Promise<number>
  readonly close: () => Promise<void>
}

/** The model names in the SDKs' own test suites, each as one more model of a family of the shipped configuration. */
const suiteModels: { readonly [model: string]: string } = {
  'gpt-6-astra': 'sim-chat',
  'gpt-image-1.5': 'alpha-image-2',
  'gpt-image-2.5-flare': 'alpha-image-2',
  'text-embedding-3-small': 'sim-embedding',
  'tts-1': 'sim-speech',
  'whisper-1': 'sim-transcription',
  'gpt-4o-transcribe': 'sim-transcription',
  'claude-opus-5-5': 'sim-messages',
  model_id: 'sim-messages',
}

const edits: Edits = [
  { 'groups/default': { rpm: 60000, tpm: 200000000 }, 'groups/single': { rpm: 1 } },
  ...Object.entries(suiteModels).map(
    ([name, like]) => [new RegExp(`^  ${like}: (.*)$`, 'm'), `  ${like}: $1\n  ${name}: $1`] as const,
  ),
]

/** The shipped configuration with simulated upstreams on ports of their own, with limits for many requests. */
export async function openGateway(): Promise<ClientGateway> {
  const ends: (() => unknown)[] = []
  const started = await start({ teardown: end => void ends.push(end) }, { simulated: true, edit: edits })
  let spends = 0
  return {
    url: started.url,
    key: started.key,
    async newSpentKey() {
      const { key } = await started.newKey({ name: `spent ${++spends}`, group: 'single' })
      const order = { model: 'sim-embedding', input: 'first' }
      const answer = await started.post('/v1/embeddings', order, { authorization: `Bearer ${key}` })
      if (!answer.ok) throw new Error(`a key could not be spent: ${answer.status} ${await answer.text()}`)
      await answer.arrayBuffer()
      return key
    },
    requests: async () => (await started.logs(1_000_000)).length - spends,
    async close() {
      for (const end of ends) await end()
    },
  }
}
