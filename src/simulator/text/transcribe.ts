import { type Fields, readChoice, readFlag, readRequired, readText } from '../request-fields.ts'
import { fail } from '../errors.ts'
import { readForm } from '../read-form.ts'
import type { Call } from '../upstream.ts'
import { readMarks } from './marks.ts'
import { perform, type Rehearsed, type Script, scriptEvents, scriptJson, writeRecord } from './perform.ts'
import { splitProse } from './prose.ts'
import { lengthOf } from './sound.ts'
import { openaiStyle } from './styles.ts'

/** `POST /v1/audio/transcriptions` (`docs/wire.md#audio`): the length of the sound, then the form's own prompt. */
export const transcribe = perform(openaiStyle, rehearse)

const formats = ['json', 'text', 'srt', 'verbose_json', 'vtt'] as const
const tokensPerSecond = 10

type Spoken = { readonly text: string; readonly words: readonly string[]; readonly seconds: number }

function rehearse({ body, headers }: Call): Rehearsed {
  const { fields, sound, granularities } = readUpload(body, headers['content-type'])
  readRequired(fields, 'model')
  const format = readChoice(fields, 'response_format', formats, 'json')
  const marks = readMarks(readText(fields, 'prompt') ?? '')
  const seconds = lengthOf(sound)
  const { text, words } = splitProse(`simulated transcript of ${seconds} seconds of sound ${marks.text}`, undefined)
  const spoken = { text, words, seconds }
  const script = readFlag(fields, 'stream') ? scriptStream(spoken) : scriptWhole(spoken, format, granularities)
  return { marks, script }
}

export function readUpload(
  body: Buffer,
  contentType: string | undefined,
): { fields: Fields; sound: Buffer; granularities: readonly string[] } {
  const fields = new Map<string, string>()
  const granularities: string[] = []
  let sound: Buffer | undefined
  for (const { name, fileName, content } of readForm(body, contentType)) {
    if (name === 'timestamp_granularities[]') granularities.push(content.toString())
    else if (name.endsWith('[]')) continue
    else if (fields.has(name) || (name === 'file' && sound))
      throw fail('duplicate_parameter', { name }, { param: name })
    else if (name === 'file' && fileName !== undefined) sound = content
    else if (fileName !== undefined) throw fail('unknown_parameter', { name }, { param: name })
    else fields.set(name, content.toString())
  }
  if (!sound) throw fail('missing_required_parameter', { name: 'file' }, { param: 'file' })
  return { fields, sound, granularities }
}

function scriptWhole(spoken: Spoken, format: (typeof formats)[number], granularities: readonly string[]): Script {
  const { text, seconds } = spoken
  const plain = (piece: string): Script => ({ type: 'text/plain; charset=utf-8', stream: false, pieces: [piece] })
  const usage = { type: 'duration', seconds: Math.ceil(seconds) }
  if (format === 'json') return scriptJson({ text, usage })
  if (format === 'verbose_json') return scriptJson({ ...describe(spoken, granularities), usage })
  if (format === 'text') return plain(`${text}\n`)
  if (format === 'srt') return plain(`1\n${clock(0, ',')} --> ${clock(seconds, ',')}\n${text}\n\n\n`)
  return plain(`WEBVTT\n\n${clock(0, '.')} --> ${clock(seconds, '.')}\n${text}\n\n`)
}

function describe({ text, words, seconds }: Spoken, granularities: readonly string[]): object {
  const segment = {
    id: 0,
    seek: 0,
    start: 0,
    end: seconds,
    text,
    tokens: words.map((_, i) => i),
    temperature: 0,
    avg_logprob: -0.1,
    compression_ratio: 1,
    no_speech_prob: 0,
  }
  const share = seconds / words.length
  return {
    task: 'transcribe',
    language: 'english',
    duration: seconds,
    text,
    ...((granularities.length === 0 || granularities.includes('segment')) && { segments: [segment] }),
    ...(granularities.includes('word') && {
      words: words.map((word, i) => ({ word: word.trim(), start: i * share, end: (i + 1) * share })),
    }),
  }
}

function scriptStream({ text, words, seconds }: Spoken): Script {
  const sound = Math.ceil(seconds * tokensPerSecond)
  const usage = {
    type: 'tokens',
    input_tokens: sound,
    input_token_details: { text_tokens: 0, audio_tokens: sound },
    output_tokens: words.length,
    total_tokens: sound + words.length,
  }
  return scriptEvents([
    ...words.map((word, i) => {
      const last = i === words.length - 1
      return writeRecord({ type: 'transcript.text.delta', delta: last ? word.trimEnd() : word })
    }),
    writeRecord({ type: 'transcript.text.done', text, usage }),
    'data: [DONE]\n\n',
  ])
}

/** `00:00:01,250`; the format selects the character before the milliseconds. */
function clock(seconds: number, mark: string): string {
  return new Date(Math.round(seconds * 1000)).toISOString().slice(11, 23).replace('.', mark)
}
