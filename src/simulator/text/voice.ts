import { readFields, readRequired, readText } from '../request-fields.ts'
import { fail } from '../errors.ts'
import type { Call } from '../upstream.ts'
import { readMarks } from './marks.ts'
import { perform, type Rehearsed, scriptJson } from './perform.ts'
import { splitProse } from './prose.ts'
import { countWords } from './read.ts'
import { lengthOf, type SoundFormat, soundOf } from './sound.ts'
import { cut, soundTypes } from './speech.ts'
import { elevenlabsStyle } from './styles.ts'
import { readUpload } from './transcribe.ts'

/** `POST /v1/text-to-speech/{voice}` (`docs/wire.md#voices`): the sound of `speech`, always at 24 kHz. */
export const voice = perform(elevenlabsStyle, rehearse)

const voiceId = /^[A-Za-z0-9]{20}$/

function rehearse(call: Call): Rehearsed {
  const { voice: id = '' } = call.params
  if (!voiceId.test(id)) throw fail('object_unknown', { message: `A voice with the voice_id ${id} was not found.` })
  const fields = readFields(call)
  const marks = readMarks(readRequired(fields, 'text'))
  const requested = call.query.get('output_format') ?? 'mp3_44100_128'
  const format = (['mp3', 'wav', 'pcm'] as const).find(name => requested.startsWith(`${name}_`))
  if (!format) throw fail('invalid_value', { name: 'output_format', found: requested, expected: 'mp3, wav and pcm' })
  const pieces = cut(soundOf(format satisfies SoundFormat, countWords(marks.text)))
  return { marks, script: { type: soundTypes[format], stream: false, pieces } }
}

/** `POST /v1/speech-to-text` (`docs/wire.md#voices`): the length of the sound, and the time of each word. */
export const hear = perform(elevenlabsStyle, ({ body, headers }) => {
  const { fields, sound } = readUpload(body, headers['content-type'])
  readRequired(fields, 'model_id')
  const marks = readMarks('')
  const seconds = lengthOf(sound)
  const { text, words } = splitProse(`simulated transcript of ${seconds} seconds of sound`, undefined)
  const share = seconds / words.length
  const script = scriptJson({
    language_code: readText(fields, 'language_code') ?? 'eng',
    language_probability: 1,
    text,
    words: words.map((word, i) => ({ text: word.trim(), type: 'word', start: i * share, end: (i + 1) * share })),
    audio_duration_secs: seconds,
  })
  return { marks, script }
})
