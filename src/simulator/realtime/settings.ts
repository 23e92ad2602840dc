/** What a session or an answer of it is to be like. */
export type Settings = {
  readonly modalities: readonly string[]
  /** The model that writes down what is heard; undefined for none. */
  readonly transcription: string | undefined
  readonly detectsVoice: boolean
  /** Tokens of an answer at most. */
  readonly longest: number | undefined
}

/** What an item of a conversation holds. */
export type Heard = { readonly text: string; readonly audioBytes: number }

/** The settings with what a message says of them; what it does not say stays. */
export function updateSettings(before: Settings, said: unknown): Settings {
  const modalities = member(said, 'output_modalities') ?? member(said, 'modalities')
  const input = member(member(said, 'audio'), 'input')
  const transcription = member(input, 'transcription')
  const detection = member(input, 'turn_detection')
  const longest = member(said, 'max_output_tokens')
  return {
    modalities: Array.isArray(modalities) ? modalities.map(String) : before.modalities,
    transcription: transcription === undefined ? before.transcription : textOf(member(transcription, 'model')),
    detectsVoice: detection === undefined ? before.detectsVoice : detection !== null,
    longest: typeof longest === 'number' ? longest : longest === 'inf' ? undefined : before.longest,
  }
}

export function readItem(item: unknown): Heard {
  const content = member(item, 'content')
  let text = ''
  let audioBytes = 0
  for (const part of Array.isArray(content) ? (content as readonly unknown[]) : []) {
    text += textOf(member(part, 'text')) ?? ''
    audioBytes += Buffer.byteLength(textOf(member(part, 'audio')) ?? '', 'base64')
  }
  return { text, audioBytes }
}

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as { readonly [name: string]: unknown })[name] : undefined
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
