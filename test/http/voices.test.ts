import { APIError } from 'openai'
import t, { type Test } from 'tap'
import { loadConfig } from '../../src/index.ts'
import { editShipped } from '../harness/project.ts'
import { type Edits, start } from '../harness/start.ts'
import type { Received } from '../harness/upstream.ts'

const rachel = '21m00Tcm4TlvDq8ikWAM'
const sound = Buffer.from([0xff, 0xf3, 0x84, 0xc4, 0, 1, 2, 3])

/** `eleven` is a model of a vendor with the voice in the path, at $100 per million characters. */
const edit: Edits = [
  {
    'families/text-to-speech/format-bridge': { voices: { alloy: rachel } },
    'models/eleven': {
      family: 'text-to-speech',
      upstream: 'text',
      send_as: 'eleven-vendor',
      accepts: ['audio.speech'],
      prices: { character: '100.00' },
    },
    'models/scribe': {
      family: 'speech-to-text',
      upstream: 'text',
      send_as: 'scribe-vendor',
      accepts: ['audio.transcribe'],
      prices: { minute: '0.06' },
    },
  },
]

async function open(t: Pick<Test, 'teardown'>, more: Edits = []) {
  const started = await start(t, { upstreams: ['text'], edit: [...edit, ...more] })
  const { text: upstream } = started.upstreams
  upstream?.answer(res => void res.writeHead(200, { 'content-type': 'audio/mpeg', 'character-cost': '7' }).end(sound))
  return { ...started, last: (): Received | undefined => upstream?.received.at(-1) }
}

const speechRequest = { model: 'eleven', voice: 'alloy', input: 'Hi 👋' } as const

t.test("OpenAI's SDK gets audio from a vendor with the voice in the path, charged per character", async t => {
  const { openai, last, charges, logs } = await open(t)
  const answer = await openai.audio.speech.create(speechRequest)
  t.same(Buffer.from(await answer.arrayBuffer()), sound)
  t.equal(answer.headers.get('content-type'), 'audio/mpeg')
  t.equal(last()?.url, `/v1/text-to-speech/${rachel}?output_format=mp3_44100_128`)
  t.same(last()?.json(), { text: speechRequest.input, model_id: 'eleven-vendor' })
  const [charge] = await charges()
  t.match(
    charge,
    { state: 'settled', amount: '0.0004', lines: [{ tier: 'character', quantity: 4 }] },
    'an emoji is one',
  )
  t.match(await logs(), [{ operation: 'text-to-speech', model: 'eleven', status: 200 }])
})

t.test('voice, format and speed are translated for the vendor, and its own fields pass unchanged', async t => {
  const { post, last } = await open(t)
  const rows: readonly (readonly [fields: object, url: RegExp, body: object])[] = [
    [{}, /output_format=mp3_44100_128$/, {}],
    [{ voice: { id: rachel } }, new RegExp(`/${rachel}\\?`), {}],
    [{ voice: 'EXAVITQu4vr4xnSDxMaL' }, /\/EXAVITQu4vr4xnSDxMaL\?/, {}],
    [{ response_format: 'opus' }, /=opus_48000_128$/, {}],
    [{ response_format: 'pcm' }, /=pcm_24000$/, {}],
    [{ response_format: 'wav' }, /=wav_24000$/, {}],
    [{ response_format: 'mp3_22050_32' }, /=mp3_22050_32$/, {}],
    [{ response_format: 'ulaw_8000' }, /=ulaw_8000$/, {}],
    [{ speed: 1 }, /mp3/, {}],
    [{ speed: 1.2 }, /mp3/, { voice_settings: { speed: 1.2 } }],
    [{ speed: 1.2, voice_settings: { stability: 0.4 } }, /mp3/, { voice_settings: { speed: 1.2, stability: 0.4 } }],
    [{ language_code: 'de', seed: 7 }, /mp3/, { language_code: 'de', seed: 7 }],
  ]
  for (const [fields, url, body] of rows) {
    const name = JSON.stringify(fields)
    t.equal((await post('/v1/audio/speech', { ...speechRequest, ...fields })).status, 200, name)
    t.match(last()?.url, url, name)
    t.same(last()?.json(), { text: speechRequest.input, model_id: 'eleven-vendor', ...body }, name)
  }
})

t.test(
  'hints without an equivalent are dropped and named; settings that change the audio are refused for free',
  async t => {
    const { url, key, post, upstreams, charges } = await open(t)
    const dropped = await post('/v1/audio/speech', { ...speechRequest, instructions: 'Whisper', user: 'ada' })
    t.equal(dropped.status, 200)
    t.equal(dropped.headers.get('x-tollgate-dropped'), 'instructions, user')
    t.equal((await charges()).length, 1)
    const rows: readonly (readonly [fields: object, param: string, message: RegExp])[] = [
      [{ response_format: 'flac' }, 'response_format', /sound format/],
      [{ response_format: 'x&model_id=y' }, 'response_format', /sound format/],
      [{ stream_format: 'sse' }, 'stream_format', /sound events/],
      [{ voice: undefined }, 'voice', /name of a voice/],
      [{ voice: '../user' }, 'voice', /id of a voice, or one of alloy/],
      [{ voice: 'a/b' }, 'voice', /id of a voice/],
      [{ voice: '__proto__.x' }, 'voice', /id of a voice/],
      [{ input: '' }, 'input', /a text/],
      [{ speed: 'fast' }, 'speed', /a number/],
      [{ input: 7 }, 'input', /a text/],
    ]
    for (const [fields, param, message] of rows) {
      const name = JSON.stringify(fields)
      const answer = await post('/v1/audio/speech', { ...speechRequest, ...fields })
      t.equal(answer.status, 400, name)
      t.match(await answer.json(), { error: { param, message } }, name)
    }
    const infinite = await fetch(`${url}/v1/audio/speech`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: '{"model":"eleven","voice":"alloy","input":"Hi","speed":1e999}',
    })
    t.match(await infinite.json(), { error: { param: 'speed', message: /a number/ } })
    t.equal(upstreams['text']?.received.length, 1)
    t.equal((await charges()).length, 1)
  },
)

t.test('a model may have a default voice and format', async t => {
  const { post, last } = await open(t, [
    { 'models/eleven/defaults': { 'audio.speech': { voice: 'alloy', response_format: 'pcm' } } },
  ])
  t.equal((await post('/v1/audio/speech', { model: 'eleven', input: 'Hi', voice: '' })).status, 200)
  t.equal(last()?.url, `/v1/text-to-speech/${rachel}?output_format=pcm_24000`)
  await post('/v1/audio/speech', { ...speechRequest, voice: 'EXAVITQu4vr4xnSDxMaL', response_format: 'wav' })
  t.equal(last()?.url, '/v1/text-to-speech/EXAVITQu4vr4xnSDxMaL?output_format=wav_24000')
})

t.test('tollgate check notes losses of a translation, and accepts defaults for an accepted format', async t => {
  const defaults = { 'audio.speech': { voice: 'alloy' }, 'text-to-speech': { language_code: 'en' } }
  const found = async (more: Edits) => {
    const text = await editShipped([...edit, ...more])
    const loaded = await loadConfig({ file: 'gateway.yaml', text }, {})
    return (loaded.ok ? loaded.notes : loaded.findings).map(({ code, message }) => [code, message] as const)
  }
  const heard = ['accepts_losses', /transcript format, transcript events are refused; dropped: .*spelling hint/]
  const noted = ['accepts_losses', /sound format, sound events are refused; dropped: speaking style/]
  t.match(await found([{ 'models/eleven/defaults': defaults }]), [heard, noted])
  t.match(await found([{ 'models/eleven/defaults': { ...defaults, 'audio.transcribe': { language: 'en' } } }]), [
    heard,
    ['default_unforwarded', /'language' has no effect/],
    noted,
  ])
  t.match(await found([{ 'models/sim-text-to-speech/accepts': ['chat'] }]), [
    heard,
    noted,
    ['accepts_nothing', /'sim-text-to-speech' forwards no API format/],
  ])
})

t.test("the vendor's errors are translated to OpenAI's format, and cost nothing", async t => {
  const { openai, upstreams, charges } = await open(t)
  const rows: readonly (readonly [status: number, detail: unknown, error: object])[] = [
    [
      404,
      { status: 'voice_not_found', message: 'A voice with the voice_id x was not found.' },
      { status: 404, code: 'voice_not_found', type: 'not_found_error', message: /voice_id x was not found/ },
    ],
    [
      422,
      [{ loc: ['body', 'voice_settings', 'speed'], msg: 'ensure it is at most 1.2', type: 'value_error' }],
      { status: 422, type: 'invalid_request_error', message: /voice_settings\.speed: ensure it is at most 1\.2/ },
    ],
    [400, 'Unsupported output format', { status: 400, message: /Unsupported output format/ }],
  ]
  for (const [status, detail, error] of rows) {
    upstreams['text']?.answer(
      res => void res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ detail })),
    )
    const thrown: unknown = await openai.audio.speech.create(speechRequest).catch((cause: unknown) => cause)
    t.ok(thrown instanceof APIError, String(status))
    t.match(thrown, error, String(status))
  }
  t.same(
    (await charges()).filter(({ state }) => state !== 'voided'),
    [],
  )
})

t.test("clients of the vendor's own API pass unchanged, with its key header and its errors", async t => {
  const { url, key, last, charges } = await open(t)
  const post = (path: string, body: object, secret = key) =>
    fetch(url + path, {
      method: 'POST',
      headers: { 'xi-api-key': secret, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  const own = { model_id: 'eleven', text: 'Hello', voice_settings: { stability: 0.5 } }
  for (const path of [`/v1/text-to-speech/${rachel}`, `/v1/text-to-speech/${rachel}/stream`]) {
    const answer = await post(`${path}?output_format=pcm_16000`, own)
    t.same(Buffer.from(await answer.arrayBuffer()), sound, path)
    t.equal(answer.headers.get('character-cost'), '7', path)
    t.equal(last()?.url, `${path}?output_format=pcm_16000`, path)
    t.same(last()?.json(), { ...own, model_id: 'eleven-vendor' }, path)
    t.equal(last()?.headers['xi-api-key'], undefined, `${path}: the client's key is for the gateway alone`)
  }
  t.match(
    (await charges()).map(({ amount }) => amount),
    ['0.0005', '0.0005'],
  )
  const rows: readonly (readonly [status: number, detail: object, path: string, body?: object, secret?: string])[] = [
    [401, { status: 'invalid_api_key', message: /"xi-api-key: <API_KEY>"/ }, rachel, own, 'sk-wrong'],
    [404, { status: 'model_not_found', param: 'model_id' }, rachel, { ...own, model_id: 'none' }],
    [400, { status: 'missing_required_parameter', message: /'model_id'/ }, rachel, { text: 'Hello' }],
    [404, { status: 'not_found' }, `${rachel}/with-timestamps`],
    [404, { status: 'not_found' }, '..%2Fuser'],
    [404, { status: 'not_found' }, '%2e%2e/stream'],
  ]
  for (const [status, detail, path, body = own, secret = key] of rows) {
    const answer = await post(`/v1/text-to-speech/${path}`, body, secret)
    t.equal(answer.status, status, `${path} ${JSON.stringify(body)}`)
    t.match(await answer.json(), { detail }, `${path} ${JSON.stringify(body)}`)
  }
  const models = await fetch(`${url}/v1/models`, { headers: { 'xi-api-key': key } })
  const listed = (await models.json()) as { model_id: string; can_do_text_to_speech?: boolean }[]
  t.match(
    listed.find(({ model_id }) => model_id === 'eleven'),
    { can_do_text_to_speech: true },
  )
  t.notOk(listed.find(({ model_id }) => model_id === 'sim-chat')?.can_do_text_to_speech)
})

t.test('model_id is used in lists and aliases, and speech without a text is refused', async t => {
  const { url, newKey, last, upstreams } = await open(t, [{ groups: { default: { aliases: { narrator: 'eleven' } } } }])
  const limited = await newKey({ name: 'limited', models: ['eleven'] })
  const post = (body: string) =>
    fetch(`${url}/v1/text-to-speech/${rachel}`, {
      method: 'POST',
      headers: { 'xi-api-key': limited.key, 'content-type': 'application/json' },
      body,
    })
  for (const model of ['eleven', 'narrator']) {
    t.equal((await post(JSON.stringify({ model_id: model, text: 'Hi' }))).status, 200, model)
    t.same(last()?.json(), { model_id: 'eleven-vendor', text: 'Hi' }, model)
  }
  const other = await post(JSON.stringify({ model_id: 'sim-text-to-speech', text: 'Hi' }))
  t.equal(other.status, 403)
  t.match(await other.json(), { detail: { status: 'model_not_allowed' } })
  const twice = await post('{"model_id":"eleven","text":"Hi","model_id":"sim-text-to-speech"}')
  t.equal(twice.status, 400)
  t.match(await twice.json(), { detail: { status: 'duplicate_field', param: 'model_id' } })
  for (const fields of ['', ',"text":null', ',"text":1234567', ',"text":["Hello"]', ',"text":{"a":"Hello"}']) {
    const uncounted = await post(`{"model_id":"eleven"${fields}}`)
    t.equal(uncounted.status, 400, fields)
    t.match(await uncounted.json(), { detail: { status: 'characters_uncounted', param: 'text' } }, fields)
  }
  t.equal(upstreams['text']?.received.length, 2)
})

t.test('guards check all texts of a speech request, in both formats', async t => {
  const guarded = { rules: [{ name: 'project', words: ['Bluebird'], do: 'mask', put: '[x]' }] }
  const { url, key, post, last, charges } = await open(t, [
    [/answer-cache, format-bridge,/, 'answer-cache, format-bridge, guard-patterns,'],
    { 'families/text-to-speech/guard-patterns': guarded },
  ])
  const around = { previous_text: 'Bluebird:', next_text: 'of Blue\u200bbird' }
  const masked = { model_id: 'eleven-vendor', text: 'a [x] b', previous_text: '[x]:', next_text: 'of [x]' }
  t.equal((await post('/v1/audio/speech', { ...speechRequest, input: 'a Bluebird b', ...around })).status, 200)
  t.same(last()?.json(), masked)
  const answer = await fetch(`${url}/v1/text-to-speech/${rachel}`, {
    method: 'POST',
    headers: { 'xi-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ model_id: 'eleven', text: 'a Bluebird b', ...around }),
  })
  t.equal(answer.status, 200)
  t.same(last()?.json(), masked)
  t.match(
    (await charges()).map(({ lines }) => lines),
    [[{ quantity: 7 }], [{ quantity: 7 }]],
    'what was spoken is charged',
  )
})

t.test("a model in OpenAI's format falls back to one with the voice in the path", async t => {
  const { openai, upstreams, charges } = await open(t, [
    { 'models/sim-speech/fallbacks': ['eleven'], 'models/sim-speech/retry_on': [503] },
    { 'models/sim-speech/may_pay_twice': true },
  ])
  upstreams['text']?.answer((res, { url }) =>
    url.startsWith('/v1/text-to-speech/')
      ? void res.writeHead(200, { 'content-type': 'audio/mpeg' }).end(sound)
      : void res.writeHead(503, { 'content-type': 'application/json' }).end('{}'),
  )
  const answer = await openai.audio.speech.create({ ...speechRequest, model: 'sim-speech' })
  t.same(Buffer.from(await answer.arrayBuffer()), sound)
  t.match(await charges(), [{ state: 'settled', lines: [{ tier: 'character', quantity: 4 }] }])
})

const heardText = {
  language_code: 'eng',
  language_probability: 0.98,
  text: 'Hello you (laughs)',
  words: [
    { text: 'Hello', type: 'word', start: 0.1, end: 0.5, speaker_id: 'speaker_0' },
    { text: ' ', type: 'spacing', start: 0.5, end: 0.6 },
    { text: 'you', type: 'word', start: 0.6, end: 0.9 },
    { text: '(laughs)', type: 'audio_event', start: 1, end: 2 },
  ],
  audio_duration_secs: 2.5,
}
const recording = new File([Buffer.from('RIFF....WAVEfmt ')], 'a.wav', { type: 'audio/wav' })

async function listen(t: Pick<Test, 'teardown'>, more: Edits = []) {
  const started = await open(t, more)
  const upstream = started.upstreams['text']
  upstream?.answer(heardText)
  const sent = async () => {
    const form = await started.last()?.form()
    return [...(form ?? [])].map(([name, value]) => [name, typeof value === 'string' ? value : 'a file'] as const)
  }
  return { ...started, sent }
}

t.test(
  "OpenAI's SDK gets a vendor's transcripts with timestamps of words, charged by the reported seconds",
  async t => {
    const { openai, last, sent, charges } = await listen(t)
    const create = (more: object) =>
      openai.audio.transcriptions.create({ model: 'scribe', file: recording, language: 'en', ...more } as const)
    t.same(await create({ temperature: 0.2 }), { text: heardText.text, usage: { type: 'duration', seconds: 3 } })
    t.equal(last()?.url, '/v1/speech-to-text')
    t.same(await sent(), [
      ['model_id', 'scribe-vendor'],
      ['language_code', 'en'],
      ['temperature', '0.2'],
      ['file', 'a file'],
    ])
    t.same(await create({ response_format: 'verbose_json', timestamp_granularities: ['word'] }), {
      task: 'transcribe',
      language: 'eng',
      duration: 2.5,
      text: heardText.text,
      words: [
        { word: 'Hello', start: 0.1, end: 0.5 },
        { word: 'you', start: 0.6, end: 0.9 },
      ],
      usage: { type: 'duration', seconds: 3 },
    })
    t.equal(await create({ response_format: 'text' }), `${heardText.text}\n`)
    await create({ diarize: true, seed: 7 })
    t.same((await sent()).slice(2), [
      ['diarize', 'true'],
      ['seed', '7'],
      ['file', 'a file'],
    ])
    t.match(
      (await charges()).map(({ amount, lines }) => [amount, lines[0]?.tier]),
      Array.from({ length: 4 }, () => ['0.003', 'second']),
    )
  },
)

t.test('a translated transcription drops hints and names them, and refuses other response formats', async t => {
  const { url, key, upstreams, charges, sent } = await listen(t, [
    { 'models/scribe/defaults': { 'audio.transcribe': { language: 'de' } } },
  ])
  const post = (fields: { readonly [name: string]: string }) => {
    const form = new FormData()
    for (const [name, value] of Object.entries({ model: 'scribe', ...fields })) form.set(name, value)
    form.set('file', recording)
    const headers = { authorization: `Bearer ${key}` }
    return fetch(`${url}/v1/audio/transcriptions`, { method: 'POST', headers, body: form })
  }
  const dropped = await post({ prompt: 'Tollgate', 'timestamp_granularities[]': 'segment', stream: 'false' })
  t.equal(dropped.status, 200)
  t.equal(dropped.headers.get('x-tollgate-dropped'), 'prompt, timestamp_granularities[]')
  t.same((await sent())[1], ['language_code', 'de'], 'the default of the model')
  for (const [fields, param] of [
    [{ response_format: 'srt' }, 'response_format'],
    [{ stream: 'true' }, 'stream'],
    [{ temperature: 'hot' }, 'temperature'],
  ] as const) {
    const answer = await post(fields)
    t.equal(answer.status, 400, param)
    t.match(await answer.json(), { error: { param } }, param)
  }
  t.equal(upstreams['text']?.received.length, 1)
  const refuse = { detail: { status: 'invalid_file', message: 'The file has no sound.' } }
  for (const [status, body, error] of [
    [400, refuse, { code: 'invalid_file', message: 'The file has no sound.' }],
    [200, { transcripts: [] }, { code: 'upstream_answer_untranslatable' }],
  ] as const) {
    upstreams['text']?.answer(
      res => void res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
    )
    const answer = await post({})
    t.equal(answer.status, status === 200 ? 502 : status, String(status))
    t.match(await answer.json(), { error }, String(status))
  }
  t.equal((await charges()).filter(({ state }) => state === 'settled').length, 1)
})

t.test('a masked transcript has no single words, because they would reveal a phrase', async t => {
  const guarded = { rules: [{ name: 'greeting', words: ['Hello you'], do: 'mask', put: '[x]', on: ['response'] }] }
  const { openai, url, key, charges } = await listen(t, [
    [/answer-cache, format-bridge,/, 'answer-cache, format-bridge, guard-patterns,'],
    { 'families/speech-to-text/guard-patterns': guarded },
  ])
  const form = new FormData()
  form.append('model_id', 'scribe')
  form.append('file', recording)
  const native = await fetch(`${url}/v1/speech-to-text`, { method: 'POST', headers: { 'xi-api-key': key }, body: form })
  t.same(await native.json(), { ...heardText, text: '[x] (laughs)', words: [] })
  const verbose = { model: 'scribe', file: recording, response_format: 'verbose_json' } as const
  t.match(await openai.audio.transcriptions.create(verbose), { text: '[x] (laughs)', words: [], duration: 2.5 })
  t.match(
    (await charges()).map(({ amount }) => amount),
    ['0.003', '0.003'],
  )
})

t.test('the client gets the charged seconds, and no invalid durations', async t => {
  const { openai, upstreams, charges } = await listen(t)
  for (const raw of ['-3', '1e999', '"7"', 'null']) {
    upstreams['text']?.answer(
      res =>
        void res
          .writeHead(200, { 'content-type': 'application/json' })
          .end(`{"text":"Hi","words":[],"audio_duration_secs":${raw}}`),
    )
    const form = { model: 'scribe', file: recording, response_format: 'verbose_json' } as const
    const answer = await openai.audio.transcriptions.create(form)
    t.same(answer, { task: 'transcribe', language: 'unknown', duration: 0, text: 'Hi', words: [] }, raw)
  }
  t.match(
    (await charges()).map(({ lines }) => lines[0]),
    Array.from({ length: 4 }, () => ({ tier: 'second', source: 'default' })),
  )
})

t.test("clients of the vendor's own transcription API pass unchanged, and name one model", async t => {
  const { url, key, sent, charges, upstreams } = await listen(t)
  const post = (fields: readonly (readonly [string, string])[]) => {
    const form = new FormData()
    for (const [name, value] of fields) form.append(name, value)
    form.append('file', recording)
    return fetch(`${url}/v1/speech-to-text`, { method: 'POST', headers: { 'xi-api-key': key }, body: form })
  }
  const answer = await post([
    ['model_id', 'scribe'],
    ['diarize', 'true'],
    ['webhook', 'true'],
    ['entity_redaction', 'pii'],
    ['detect_speaker_roles', 'true'],
  ])
  t.same(await answer.json(), heardText)
  t.same(await sent(), [
    ['model_id', 'scribe-vendor'],
    ['diarize', 'true'],
    ['file', 'a file'],
  ])
  t.match(await charges(), [{ state: 'settled', amount: '0.003' }])
  const twice = await post([
    ['model_id', 'scribe'],
    ['model_id', 'dear'],
  ])
  t.equal(twice.status, 400)
  t.match(await twice.json(), { detail: { status: 'form_field_duplicate', param: 'model_id' } })
  t.equal(upstreams['text']?.received.length, 1)
})
