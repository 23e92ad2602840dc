import { type Loss, RequestFault } from '../neutral/index.ts'
import type { Transcript, TranscriptClient } from './format.ts'

const json = 'application/json'
/** The media type of the answer by the name of its format. */
const types: ReadonlyMap<string, string> = new Map([
  ['json', json],
  ['verbose_json', json],
  ['text', 'text/plain; charset=utf-8'],
])
const usual = 'json'
const granularities = 'timestamp_granularities[]'
const known = new Set(['model', 'language', 'prompt', 'response_format', 'stream', 'temperature', granularities])

/** `POST /v1/audio/transcriptions`. */
export const openai: TranscriptClient = {
  operation: 'audio.transcribe',
  says: {
    transcript_format: 'response_format',
    transcript_events: 'stream',
    transcript_segments: granularities,
    spelling_hint: 'prompt',
  },
  parseRequest(fields) {
    const valueOf = (name: string): string | undefined => fields.find(one => one[0] === name && one[1] !== '')?.[1]
    const temperature = valueOf('temperature')
    if (temperature !== undefined && !Number.isFinite(Number(temperature)))
      throw new RequestFault('temperature', 'a number')
    const losses: Loss[] = []
    if (!types.has(valueOf('response_format') ?? usual)) losses.push({ feature: 'transcript_format' })
    if ((valueOf('stream') ?? 'false') !== 'false') losses.push({ feature: 'transcript_events' })
    if (valueOf('prompt') !== undefined) losses.push({ feature: 'spelling_hint' })
    if (fields.some(([name, value]) => name === granularities && value === 'segment'))
      losses.push({ feature: 'transcript_segments' })
    const rest = fields.filter(([name, value]) => !known.has(name) && value !== '')
    return { language: valueOf('language'), temperature, rest, losses }
  },
  formOf(wanted = usual) {
    const format = types.has(wanted) ? wanted : usual
    return { format, type: types.get(format) ?? json }
  },
  writeAnswer({ text, language, seconds, words }: Transcript, format) {
    if (format === 'text') return `${text}\n`
    const usage = seconds === undefined ? {} : { usage: { type: 'duration', seconds: Math.ceil(seconds) } }
    if (format === usual) return { text, ...usage }
    return {
      task: 'transcribe',
      language: language ?? 'unknown',
      duration: seconds ?? words.at(-1)?.end ?? 0,
      text,
      words,
      ...usage,
    }
  },
}
