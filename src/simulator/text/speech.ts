import { readChoice, readFields, readRequired } from '../request-fields.ts'
import { fail } from '../errors.ts'
import type { Call } from '../upstream.ts'
import { readMarks } from './marks.ts'
import { perform, type Rehearsed, scriptEvents, writeRecord } from './perform.ts'
import { countWords } from './read.ts'
import { type SoundFormat, soundOf } from './sound.ts'
import { openaiStyle } from './styles.ts'

/**
 * `POST /v1/audio/speech` (`docs/wire.md#audio`): a tone for each word as WAV or PCM, silence as MP3; no other format.
 */
export const speech = perform(openaiStyle, rehearse)

const inputCharactersMax = 4096
const pieceBytes = 8 * 1024
export const soundTypes: { readonly [format in SoundFormat]: string } = {
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
}

function rehearse(call: Call): Rehearsed {
  const fields = readFields(call)
  readRequired(fields, 'model')
  const input = readRequired(fields, 'input')
  if (input.length > inputCharactersMax) {
    const params = { name: 'input', max: inputCharactersMax, found: input.length }
    throw fail('string_above_max_length', params, { param: 'input' })
  }
  if (!fields.has('voice')) throw fail('missing_required_parameter', { name: 'voice' }, { param: 'voice' })
  const format = readChoice(fields, 'response_format', ['mp3', 'wav', 'pcm'], 'mp3')
  const marks = readMarks(input)
  const words = countWords(marks.text)
  const pieces = cut(soundOf(format, words))
  if (readChoice(fields, 'stream_format', ['audio', 'sse'], 'audio') === 'audio')
    return { marks, script: { type: soundTypes[format], stream: false, pieces } }
  const usage = { input_tokens: words, output_tokens: words * 10, total_tokens: words * 11 }
  return {
    marks,
    script: scriptEvents([
      ...pieces.map(piece => writeRecord({ type: 'speech.audio.delta', audio: piece.toString('base64') })),
      writeRecord({ type: 'speech.audio.done', usage }),
    ]),
  }
}

export function cut(sound: Buffer): readonly Buffer[] {
  return Array.from({ length: Math.ceil(sound.length / pieceBytes) }, (_, i) =>
    sound.subarray(i * pieceBytes, (i + 1) * pieceBytes),
  )
}
