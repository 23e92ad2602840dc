/** Settings of a session or a response. */
export type Settings = {
  readonly modalities: readonly string[]
  /** Transcription model; undefined for none. */
  readonly transcription: string | undefined
  readonly detectsVoice: boolean
  /** The maximum number of tokens in a response. */
  readonly longest: number | undefined
}

/** Content of a conversation item. */
export type UserInput = { readonly text: string; readonly audioBytes: number }

/** Applies the settings in a message; others stay unchanged. */
export function updateSettings(before: Settings, message: unknown): Settings {
  const modalities = member(message, 'output_modalities') ?? member(message, 'modalities')
  const input = member(member(message, 'audio'), 'input')
  const transcription = member(input, 'transcription')
  const detection = member(input, 'turn_detection')
  const longest = member(message, 'max_output_tokens')
  return {
    modalities: Array.isArray(modalities) ? modalities.map(String) : before.modalities,
    transcription: transcription === undefined ? before.transcription : textOf(member(transcription, 'model')),
    detectsVoice: detection === undefined ? before.detectsVoice : detection !== null,
    longest: typeof longest === 'number' ? longest : longest === 'inf' ? undefined : before.longest,
  }
}

export function readItem(item: unknown): UserInput {
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
