import { randomUUID } from 'node:crypto'
import { readMarks } from '../text/marks.ts'
import { writeProse } from '../text/prose.ts'
import { soundOf } from '../text/sound.ts'

/** The client sends 16 kHz 16-bit PCM and receives 24 kHz. A second is 32 tokens of input or 25 of output. */
const inputBytesPerToken = 32_000 / 32
const spokenBytesPerToken = 48_000 / 25
/** The number of audio bytes after which the simulated voice detection ends an utterance. */
const utteranceBytes = 32_000
const charsPerToken = 4

type Members = { readonly [name: string]: unknown }
type Wire = { send(message: object): void; close(code: number, reason: string): void; cut(): void }
type Context = { text: number; audio: number }
type Speaking = { text: number; audio: number; isOver: boolean }

/** Conversations by their handles, with which later sessions continue them. */
export class LiveMemory {
  readonly #kept = new Map<string, Context>()

  keep(context: Context): string {
    const handle = randomUUID()
    this.#kept.set(handle, { ...context })
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > 1_000 && oldest !== undefined) this.#kept.delete(oldest)
    return handle
  }

  find(handle: string): Context | undefined {
    return this.#kept.get(handle)
  }
}

/**
 * A simulated live session. Each spoken word is a tone. Each turn counts the tokens of the whole conversation again.
 */
export class LiveSession {
  readonly #wire: Wire
  readonly #memory: LiveMemory
  #setup: Members | undefined
  #context: Context = { text: 0, audio: 0 }
  #sound = 0
  #prompt = ''
  #speaking: Speaking | undefined
  #isClosed = false

  constructor(wire: Wire, memory: LiveMemory) {
    this.#wire = wire
    this.#memory = memory
  }

  close(): void {
    this.#isClosed = true
    if (this.#speaking) this.#speaking.isOver = true
  }

  receive(text: string): void {
    let message: unknown
    try {
      message = JSON.parse(text)
    } catch {
      return this.#wire.close(1007, 'Invalid JSON payload received.')
    }
    const setup = member(message, 'setup')
    if (!this.#setup) return this.#begin(setup)
    if (setup !== undefined) return this.#wire.close(1007, 'setup must be the first message and only the first.')
    const content = member(message, 'clientContent')
    const input = member(message, 'realtimeInput')
    const response = member(message, 'toolResponse')
    if (content !== undefined) this.#read(content)
    else if (input !== undefined) this.#hear(input)
    else if (response !== undefined) this.#addToolResponse(response)
    else this.#wire.close(1007, 'The message has no known member.')
  }

  #send(message: object): void {
    if (!this.#isClosed) this.#wire.send(message)
  }

  #begin(setup: unknown): void {
    const model = member(setup, 'model')
    if (typeof model !== 'string' || !model.startsWith('models/'))
      return this.#wire.close(1008, `${String(model)} is not found for API version v1beta`)
    const handle = member(member(setup, 'sessionResumption'), 'handle')
    const context = typeof handle === 'string' ? this.#memory.find(handle) : undefined
    if (typeof handle === 'string' && !context) return this.#wire.close(1008, 'BidiGenerateContent session not found')
    if (context) this.#context = { ...context }
    this.#setup = setup as Members
    this.#send({ setupComplete: {} })
  }

  #read(content: unknown): void {
    const turns = member(content, 'turns')
    const text = (Array.isArray(turns) ? turns : []).flatMap(partsOf).join(' ')
    this.#add(text)
    if (member(content, 'turnComplete') === true) void this.#answer()
  }

  #add(text: string): void {
    this.#prompt = this.#prompt === '' ? text : `${this.#prompt} ${text}`
    this.#context.text += Math.ceil(text.length / charsPerToken)
  }

  #hear(input: unknown): void {
    const text = member(input, 'text')
    if (typeof text === 'string') {
      this.#add(text)
      return void this.#answer()
    }
    const data = member(member(input, 'audio'), 'data')
    if (typeof data === 'string') this.#sound += Buffer.byteLength(data, 'base64')
    const ends = member(input, 'audioStreamEnd') === true || member(input, 'activityEnd') !== undefined
    if (this.#sound === 0 || (!ends && this.#sound < utteranceBytes)) return
    this.#context.audio += Math.ceil(this.#sound / inputBytesPerToken)
    this.#prompt = `${Math.round(this.#sound / 3_200) / 10} seconds of sound`
    this.#sound = 0
    if (member(this.#setup, 'inputAudioTranscription') !== undefined)
      this.#send({ serverContent: { inputTranscription: { text: this.#prompt } } })
    void this.#answer()
  }

  #addToolResponse(response: unknown): void {
    this.#add(JSON.stringify(member(response, 'functionResponses') ?? []))
    this.#prompt = 'The tool has answered.'
    void this.#answer()
  }

  async #answer(): Promise<void> {
    this.#interrupt()
    const marks = readMarks(this.#prompt)
    const prompt = this.#prompt
    this.#prompt = ''
    const tool = prompt.includes('[[call ') && marks.calls[0]
    if (tool) return this.#call(tool.name, tool.input)
    const speaking: Speaking = { text: 0, audio: 0, isOver: false }
    this.#speaking = speaking
    const config = member(this.#setup, 'generationConfig')
    const longest = member(config, 'maxOutputTokens')
    const modalities = member(config, 'responseModalities')
    const isSpoken = !(Array.isArray(modalities) && modalities.includes('TEXT'))
    const { words } = writeProse(marks, 0, typeof longest === 'number' ? longest : undefined)
    for (const [i, word] of words.entries()) {
      await new Promise(resolve => setTimeout(resolve, marks.pauseMs))
      if (speaking.isOver) return
      if (marks.cut && i === 2) return this.#wire.cut()
      const sound = isSpoken ? soundOf('pcm', 1) : undefined
      if (sound) speaking.audio += Math.ceil(sound.length / spokenBytesPerToken)
      else speaking.text += 1
      const inlineData = { mimeType: 'audio/pcm;rate=24000', data: sound?.toString('base64') }
      this.#send({ serverContent: { modelTurn: { parts: [sound ? { inlineData } : { text: word }] } } })
    }
    this.#send({ serverContent: { generationComplete: true } })
    this.#end(speaking)
  }

  #call(name: string, args: unknown): void {
    const speaking: Speaking = { text: Math.ceil(JSON.stringify(args).length / charsPerToken), audio: 0, isOver: true }
    this.#send({ toolCall: { functionCalls: [{ id: `call_${randomUUID()}`, name, args }] } })
    this.#send({ usageMetadata: this.#usage(speaking) })
    this.#context.text += speaking.text
  }

  /** A new message of the client ends a running turn. */
  #interrupt(): void {
    const speaking = this.#speaking
    if (!speaking || speaking.isOver) return
    this.#send({ serverContent: { interrupted: true } })
    this.#end(speaking)
  }

  #end(speaking: Speaking): void {
    speaking.isOver = true
    this.#speaking = undefined
    this.#send({ serverContent: { turnComplete: true }, usageMetadata: this.#usage(speaking) })
    this.#context.text += speaking.text
    this.#context.audio += speaking.audio
    if (member(this.#setup, 'sessionResumption') !== undefined)
      this.#send({ sessionResumptionUpdate: { newHandle: this.#memory.keep(this.#context), resumable: true } })
  }

  #usage({ text, audio }: Speaking): object {
    const { text: inputText, audio: inputAudio } = this.#context
    return {
      promptTokenCount: inputText + inputAudio,
      responseTokenCount: text + audio,
      totalTokenCount: inputText + inputAudio + text + audio,
      promptTokensDetails: [
        { modality: 'TEXT', tokenCount: inputText },
        { modality: 'AUDIO', tokenCount: inputAudio },
      ],
      responseTokensDetails: [
        { modality: 'TEXT', tokenCount: text },
        { modality: 'AUDIO', tokenCount: audio },
      ],
    }
  }
}

function partsOf(turn: unknown): readonly string[] {
  const parts = member(turn, 'parts')
  return (Array.isArray(parts) ? parts : []).map(part => {
    const text = member(part, 'text')
    return typeof text === 'string' ? text : ''
  })
}

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Members)[name] : undefined
}
