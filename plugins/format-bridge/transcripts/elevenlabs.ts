import { AnswerFault, asList, asNumber, asText, type Loss, optional, valueAt } from '../neutral/index.ts'
import { parseProblem } from '../speech/elevenlabs.ts'
import type { TranscriptUpstream } from './format.ts'

const known = new Set([
  'diarization_threshold',
  'diarize',
  'file_format',
  'num_speakers',
  'seed',
  'tag_audio_events',
  'timestamps_granularity',
])

/** `POST /v1/speech-to-text`. */
export const elevenlabs: TranscriptUpstream = {
  operation: 'speech-to-text',
  carries: new Set(),
  writeRequest({ language, temperature, rest }, model) {
    const losses: Loss[] = rest
      .filter(([name]) => !known.has(name))
      .map(([field]) => ({ feature: 'unknown_field', field }))
    const own = { model_id: model, ...optional('language_code', language), ...optional('temperature', temperature) }
    return { fields: [...Object.entries(own), ...rest.filter(([name]) => known.has(name))], losses }
  },
  parseAnswer(body) {
    const text = asText(valueAt(body, 'text'))
    if (text === undefined) throw new AnswerFault('it has no text')
    const seconds = asNumber(valueAt(body, 'audio_duration_secs'))
    return {
      text,
      language: asText(valueAt(body, 'language_code')),
      // The seconds that are charged.
      seconds: seconds !== undefined && Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined,
      // The list also contains spaces and sounds between words.
      words: asList(valueAt(body, 'words'))
        .filter(one => valueAt(one, 'type') === 'word')
        .map(one => ({
          word: asText(valueAt(one, 'text')) ?? '',
          start: asNumber(valueAt(one, 'start')) ?? 0,
          end: asNumber(valueAt(one, 'end')) ?? 0,
        })),
    }
  },
  parseProblem,
}
