import { randomUUID } from 'node:crypto'
import { readMarks } from '../text/marks.ts'
import { writeProse } from '../text/prose.ts'
import { soundOf } from '../text/sound.ts'
import { type UserInput, readItem, type Settings, updateSettings } from './settings.ts'

/** 24 kHz 16-bit PCM. An audio token is 1/10 s of input or 1/20 s of output. */
const bytesPerSecond = 48_000
const inputTokensPerSecond = 10
const spokenTokensPerSecond = 20
/** The number of audio bytes after which the simulated voice detection ends an utterance. */
const utteranceBytes = bytesPerSecond
const charsPerToken = 4

type Event = { readonly type: string; readonly [name: string]: unknown }
type Wire = { send(event: Event): void; cut(): void }

/** Progress of one response. */
type Speaking = { readonly id: string; text: number; audio: number; isOver: boolean }

/** A simulated conversation in speech and text. Each spoken word is a tone. */
export class SimulatedSession {
  readonly #id = `sess_${short()}`
  readonly #model: string | undefined
  readonly #wire: Wire
  #settings: Settings
  #sound = 0
  /** The client's latest input; the next response answers it. */
  #prompt = ''
  /** Tokens of the conversation; each response counts all of them again. */
  #context = { text: 0, audio: 0, cached: 0 }
  #speaking: Speaking | undefined
  #isClosed = false

  /** @param model undefined for sessions that only transcribe */
  constructor(model: string | undefined, wire: Wire) {
    this.#model = model
    this.#wire = wire
    this.#settings = { modalities: ['audio'], transcription: undefined, detectsVoice: true, longest: undefined }
    this.#send({ type: 'session.created', session: this.#session() })
  }

  close(): void {
    this.#isClosed = true
    if (this.#speaking) this.#speaking.isOver = true
  }

  receive(text: string): void {
    let message: { readonly [name: string]: unknown }
    try {
      message = JSON.parse(text) as typeof message
    } catch {
      return this.#refuse('the message is not JSON', 'invalid_json')
    }
    const { type } = message
    if (type === 'session.update') {
      this.#settings = updateSettings(this.#settings, message['session'])
      this.#send({ type: 'session.updated', session: this.#session() })
    } else if (type === 'conversation.item.create') this.#add(readItem(message['item']))
    else if (type === 'input_audio_buffer.append')
      this.#hear(typeof message['audio'] === 'string' ? message['audio'] : '')
    else if (type === 'input_audio_buffer.commit') this.#commit()
    else if (type === 'response.create' && this.#model === undefined)
      this.#refuse('a transcription session has no responses', 'invalid_request')
    else if (type === 'response.create') void this.#answer(message['response'])
    else if (type === 'response.cancel') this.#cancel()
    else this.#refuse(`the event '${String(type)}' is not known`, 'unknown_event')
  }

  #send(event: Event): void {
    if (!this.#isClosed) this.#wire.send({ event_id: `event_${short()}`, ...event })
  }

  #refuse(message: string, code: string): void {
    this.#send({ type: 'error', error: { type: 'invalid_request_error', code, message, param: null, event_id: null } })
  }

  #session(): object {
    const { modalities, transcription, detectsVoice, longest } = this.#settings
    return {
      id: this.#id,
      object: 'realtime.session',
      ...(this.#model === undefined ? { type: 'transcription' } : { type: 'realtime', model: this.#model }),
      output_modalities: modalities,
      max_output_tokens: longest ?? 'inf',
      audio: {
        input: {
          format: { type: 'audio/pcm', rate: 24_000 },
          transcription: transcription === undefined ? null : { model: transcription },
          turn_detection: detectsVoice ? { type: 'server_vad' } : null,
        },
        output: { format: { type: 'audio/pcm', rate: 24_000 }, voice: 'simulated' },
      },
    }
  }

  #add({ text, audioBytes }: UserInput): void {
    const item = { id: `item_${short()}`, object: 'realtime.item', type: 'message', role: 'user', status: 'completed' }
    this.#prompt = text
    this.#context.text += tokensOf(text)
    this.#context.audio += secondsOf(audioBytes) * inputTokensPerSecond
    for (const type of ['conversation.item.added', 'conversation.item.done'])
      this.#send({ type, previous_item_id: null, item: { ...item, content: [{ type: 'input_text', text }] } })
  }

  #hear(base64: string): void {
    this.#sound += Buffer.byteLength(base64, 'base64')
    if (!this.#settings.detectsVoice || this.#sound < utteranceBytes) return
    this.#send({ type: 'input_audio_buffer.speech_started', audio_start_ms: 0, item_id: 'item_voice' })
    this.#send({ type: 'input_audio_buffer.speech_stopped', audio_end_ms: 1_000, item_id: 'item_voice' })
    this.#commit()
    if (this.#model !== undefined) void this.#answer(undefined)
  }

  #commit(): void {
    const bytes = this.#sound
    if (bytes === 0) return this.#refuse('the buffer holds no sound', 'input_audio_buffer_commit_empty')
    this.#sound = 0
    const id = `item_${short()}`
    const seconds = secondsOf(bytes)
    this.#prompt = `${seconds} seconds of sound`
    this.#context.audio += Math.ceil(seconds * inputTokensPerSecond)
    this.#send({ type: 'input_audio_buffer.committed', previous_item_id: null, item_id: id })
    const { transcription } = this.#settings
    if (transcription === undefined) return
    this.#send({
      type: 'conversation.item.input_audio_transcription.completed',
      item_id: id,
      content_index: 0,
      transcript: this.#prompt,
      usage: { type: 'duration', seconds },
    })
  }

  async #answer(own: unknown): Promise<void> {
    if (this.#speaking) return this.#refuse('a response runs already', 'conversation_already_has_active_response')
    const { modalities, longest } = updateSettings(this.#settings, own)
    const speaking: Speaking = { id: `resp_${short()}`, text: 0, audio: 0, isOver: false }
    const marks = readMarks(this.#prompt)
    const { words } = writeProse(marks, 0, longest)
    const isSpoken = modalities.includes('audio')
    this.#speaking = speaking
    this.#send({ type: 'response.created', response: this.#response(speaking, 'in_progress') })
    const place = { response_id: speaking.id, item_id: `item_${short()}`, output_index: 0, content_index: 0 }
    for (const [i, word] of words.entries()) {
      await new Promise(resolve => setTimeout(resolve, marks.pauseMs))
      if (speaking.isOver) return
      if (marks.cut && i === 2) return this.#wire.cut()
      speaking.text += 1
      if (!isSpoken) this.#send({ type: 'response.output_text.delta', ...place, delta: word })
      else {
        const sound = soundOf('pcm', 1)
        speaking.audio += Math.ceil(secondsOf(sound.length) * spokenTokensPerSecond)
        this.#send({ type: 'response.output_audio.delta', ...place, delta: sound.toString('base64') })
        this.#send({ type: 'response.output_audio_transcript.delta', ...place, delta: word })
      }
    }
    this.#end(speaking, 'completed')
  }

  #cancel(): void {
    if (this.#speaking) this.#end(this.#speaking, 'cancelled')
    else this.#refuse('no response runs', 'response_cancel_not_active')
  }

  #end(speaking: Speaking, status: string): void {
    speaking.isOver = true
    this.#speaking = undefined
    this.#send({ type: 'response.done', response: this.#response(speaking, status) })
    this.#context.cached = this.#context.text + this.#context.audio
    this.#context.text += speaking.text
    this.#context.audio += speaking.audio
  }

  #response({ id, text, audio, isOver }: Speaking, status: string): object {
    const { text: inputText, audio: inputAudio, cached } = this.#context
    const input = inputText + inputAudio
    const usage = {
      total_tokens: input + text + audio,
      input_tokens: input,
      output_tokens: text + audio,
      input_token_details: { text_tokens: inputText, audio_tokens: inputAudio, image_tokens: 0, cached_tokens: cached },
      output_token_details: { text_tokens: text, audio_tokens: audio },
    }
    return { id, object: 'realtime.response', status, output: [], ...(isOver && { usage }) }
  }
}

function short(): string {
  return randomUUID().replaceAll('-', '').slice(0, 21)
}

function tokensOf(text: string): number {
  return Math.ceil(text.length / charsPerToken)
}

function secondsOf(bytes: number): number {
  return Math.round((bytes / bytesPerSecond) * 10) / 10
}
