import OpenAI, { toFile } from 'openai'
import OpenAI4, { toFile as toFile4 } from 'openai4'
import OpenAI6, { toFile as toFile6 } from 'openai6'
import t, { type Test } from 'tap'
import { png } from '../harness/pictures.ts'
import { bodyBytesMax, caught, collect, headerOf, readOut, type SdkGateway, startForSdk } from './sdk-gateway.ts'
import { caseName } from '../harness/case-name.ts'

/** The versions in use, with the types of the newest: the tests call only what they have in common. */
const versions = [
  { version: 7, Sdk: OpenAI, toFile },
  { version: 6, Sdk: OpenAI6 as unknown as typeof OpenAI, toFile: toFile6 as unknown as typeof toFile },
  { version: 4, Sdk: OpenAI4 as unknown as typeof OpenAI, toFile: toFile4 as unknown as typeof toFile },
] as const

const model = 'sim-chat'
const messages = [{ role: 'user' as const, content: 'a red boat' }]
const answerText = 'simulated answer to: a red boat'

for (const { version, Sdk, toFile } of versions) {
  t.test(`openai ${version}`, async t => {
    const gateway = await startForSdk(t)
    const connect = (more: { baseURL?: string; apiKey?: string } = {}) =>
      new Sdk({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0, ...more })
    const client = connect()
    await callText(t, client, gateway, version)
    await callVectorsAndSound(t, client, toFile)
    await callImages(t, client, toFile, version)
    await callModels(t, client)
    await raiseErrors(t, connect, gateway, Sdk, version)
    await breakStreams(t, client, Sdk, version)
    await t.test('a base address with /v1, without it, and with two of them', async t => {
      for (const baseURL of [`${gateway.url}/v1`, gateway.url, `${gateway.url}/v1/v1`]) {
        const other = connect({ baseURL })
        t.equal(
          (await other.chat.completions.create({ model, messages })).choices[0]?.message.content,
          answerText,
          baseURL,
        )
        t.match(
          await other.responses.create({ model, input: 'a red boat' }),
          { status: 'completed' },
          caseName({ baseURL }),
        )
        t.equal(
          (await other.embeddings.create({ model: 'sim-embedding', input: 'a' })).data.length,
          1,
          caseName({ baseURL }),
        )
        t.ok(
          (await collect(other.models.list())).some(({ id }) => id === model),
          caseName({ baseURL }),
        )
        t.equal((await other.models.retrieve(model)).id, model, caseName({ baseURL }))
        t.equal(
          (await other.images.generate({ model: 'beta-imagine-image', prompt: 'a boat' })).data?.length,
          1,
          caseName({ baseURL }),
        )
        const image = await toFile(png(8, 8), 'a.png', { type: 'image/png' })
        t.equal(
          (await other.images.edit({ model: 'beta-imagine-image', prompt: 'a', image })).data?.length,
          1,
          caseName({ baseURL }),
        )
        t.equal(
          (await other.audio.speech.create({ model: 'sim-speech', voice: 'alloy', input: 'a' })).status,
          200,
          caseName({ baseURL }),
        )
        const file = await toFile(Buffer.alloc(1600), 'a.mp3')
        t.match(
          await other.audio.transcriptions.create({ model: 'sim-transcription', file }),
          { text: /^simulated/ },
          caseName({ baseURL }),
        )
      }
    })
    t.comment(`openai ${version}: ${await gateway.requests()} requests`)
  })
}

// These tests need an environment of their own and most of a minute.
t.test('the SDKs of openai, anthropic and google-genai for Python', { skip: 'npm run test:python' }, () => undefined)

async function callText(t: Test, client: OpenAI, gateway: SdkGateway, version: number): Promise<void> {
  await t.test('chat completions, whole', async t => {
    const answer = await client.chat.completions.create({ model, messages, n: 2 })
    t.same(
      answer.choices.map(({ message }) => message.content),
      [answerText, 'simulated answer 2 to: a red boat'],
    )
    t.match(answer.usage, { prompt_tokens: 3, completion_tokens: 13, total_tokens: 16 })
    const [log] = await gateway.logs(1)
    t.equal(answer._request_id, log?.id, 'the request id is the one in the log')
    t.match(log, { usage: { input_tokens: 3, output_tokens: 13 }, outcome: 'answered' })
    const { response, request_id } = await client.chat.completions.create({ model, messages }).withResponse()
    t.equal(request_id, response.headers.get('request-id'))
  })

  await t.test('chat completions, streamed: usage only on request, but always counted', async t => {
    const plain = await collect(await client.chat.completions.create({ model, messages, stream: true }))
    t.equal(plain.map(({ choices }) => choices[0]?.delta.content ?? '').join(''), answerText)
    t.ok(plain.every(chunk => chunk.choices.length === 1))
    const [log] = await gateway.logs(1)
    t.match(log, { usage: { input_tokens: 3, output_tokens: 6 } })
    const counted = await collect(
      await client.chat.completions.create({ model, messages, stream: true, stream_options: { include_usage: true } }),
    )
    t.match(counted.at(-1), { choices: [], usage: { prompt_tokens: 3, completion_tokens: 6 } })
  })

  await t.test('chat completions with the stream reader of the SDK, a tool and its result', async t => {
    const { chat } = version === 4 ? (client.beta as unknown as OpenAI) : client
    const whole = await chat.completions.stream({ model, messages }).finalChatCompletion()
    t.equal(whole.choices[0]?.message.content, answerText)
    const parameters = { type: 'object', properties: { city: { type: 'string' } } }
    const tools = [{ type: 'function' as const, function: { name: 'look_up', parameters } }]
    const ask = { role: 'user' as const, content: 'look_up Rome' }
    const called = await chat.completions.stream({ model, messages: [ask], tools }).finalChatCompletion()
    const [choice] = called.choices
    const [call] = choice?.message.tool_calls ?? []
    t.match(call, { type: 'function', function: { name: 'look_up', arguments: '{"city":"look_up Rome"}' } })
    if (!choice || !call) return
    const result = { role: 'tool' as const, tool_call_id: call.id, content: 'rain' }
    const finalAnswer = await client.chat.completions.create({ model, messages: [ask, choice.message, result], tools })
    t.equal(finalAnswer.choices[0]?.message.content, 'simulated answer to: rain')
  })

  await t.test('responses, complete and streamed, with the stream reader of the SDK and a tool', async t => {
    const whole = await client.responses.create({ model, input: 'a red boat' })
    t.equal(whole.output_text, answerText)
    t.match(whole.usage, { input_tokens: 3, output_tokens: 6, total_tokens: 9 })
    const [log] = await gateway.logs(1)
    t.equal(whole._request_id, log?.id)
    t.match(log, { operation: 'responses', usage: { input_tokens: 3, output_tokens: 6 } })
    const events = await collect(await client.responses.create({ model, input: 'a red boat', stream: true }))
    t.equal(events[0]?.type, 'response.created')
    t.equal(events.at(-1)?.type, 'response.completed')
    t.equal(events.map(event => (event.type === 'response.output_text.delta' ? event.delta : '')).join(''), answerText)
    t.match((await gateway.logs(1))[0], { usage: { input_tokens: 3, output_tokens: 6 } })
    const read = await client.responses.stream({ model, input: 'a red boat' }).finalResponse()
    t.match(read.output, [{ content: [{ text: answerText }] }])
    const parameters = { type: 'object', properties: { city: { type: 'string' } } }
    const tools = [{ type: 'function' as const, name: 'look_up', strict: false, parameters }]
    const called = await client.responses.create({ model, input: 'look_up Rome', tools })
    t.match(called.output, [{ type: 'function_call', name: 'look_up', arguments: '{"city":"look_up Rome"}' }])
    // Agents request the compaction of their conversation with an item of this type.
    const trigger = { type: 'compaction_trigger' as const }
    const input = [{ role: 'user' as const, content: 'a red boat' }, trigger]
    const ended = (await collect(await client.responses.create({ model, input, stream: true }))).at(-1)
    t.match(ended, { type: 'response.completed', response: { output: [{ type: 'compaction' }] } })
    const limited = await client.responses.create({ model, input: 'a red boat', max_output_tokens: 2 })
    t.match(limited, { status: 'incomplete', output_text: 'simulated answer' })
  })
}

async function callVectorsAndSound(t: Test, client: OpenAI, makeFile: typeof toFile): Promise<void> {
  await t.test('embeddings, in the coding of the SDK and as floats', async t => {
    const order = { model: 'sim-embedding', input: ['a red boat', 'winter'], dimensions: 40 }
    const coded = await client.embeddings.create(order)
    t.match(coded.usage, { prompt_tokens: 4, total_tokens: 4 })
    const floats = await client.embeddings.create({ ...order, encoding_format: 'float' })
    t.same(
      coded.data.map(({ embedding }) => [...embedding]),
      floats.data.map(({ embedding }) => embedding),
    )
    t.equal(coded.data[0]?.embedding.length, 40)
  })

  let sound: Buffer = Buffer.alloc(0)
  await t.test('speech, as a file and as events', async t => {
    const order = { model: 'sim-speech', voice: 'alloy' as const, input: 'a red boat' }
    const wav = await client.audio.speech.create({ ...order, response_format: 'wav' })
    t.equal(wav.headers.get('content-type'), 'audio/wav')
    sound = Buffer.from(await wav.arrayBuffer())
    t.equal(sound.readUInt32LE(40), sound.length - 44)
    t.equal(Buffer.from(await (await client.audio.speech.create(order)).arrayBuffer()).length % 24, 0)
    const events = await client.audio.speech.create({ ...order, response_format: 'wav', stream_format: 'sse' })
    t.match(await events.text(), /^data: \{"type":"speech\.audio\.delta"[^]*"speech\.audio\.done","usage":/)
  })

  await t.test('transcriptions, in every format and as a stream', async t => {
    const order = { model: 'sim-transcription' } as const
    const text = 'simulated transcript of 0.36 seconds of sound'
    const file = () => makeFile(sound, 'a.wav', { type: 'audio/wav' })
    t.match(await client.audio.transcriptions.create({ ...order, file: await file() }), { text })
    const verbose = await client.audio.transcriptions.create({
      ...order,
      file: await file(),
      response_format: 'verbose_json',
      timestamp_granularities: ['word', 'segment'],
    })
    t.match(verbose, { duration: 0.36, text, words: [{ word: 'simulated' }], segments: [{ text }] })
    for (const response_format of ['text', 'srt', 'vtt'] as const) {
      const plain = await client.audio.transcriptions.create({ ...order, file: await file(), response_format })
      t.type(plain, 'string', response_format)
      t.ok(plain.includes(text), response_format)
    }
    const events = await collect(
      await client.audio.transcriptions.create({ ...order, file: await file(), stream: true }),
    )
    t.match(events.at(-1), { type: 'transcript.text.done', text })
  })
}

async function callImages(t: Test, client: OpenAI, makeFile: typeof toFile, version: number): Promise<void> {
  await t.test('images, generated and edited', async t => {
    const alpha = { model: 'alpha-image-2', prompt: 'a boat' }
    const beta = { model: 'beta-imagine-image', prompt: 'a boat' }
    t.match(await client.images.generate({ ...alpha, n: 2 }), { data: [{ b64_json: String }, { b64_json: String }] })
    t.match(await client.images.generate({ ...alpha, response_format: 'url' }), { data: [{ url: /^data:image\/png/ }] })
    t.match(await client.images.generate({ ...beta, size: '1024x1024' }), { data: [{ url: /^http/ }] })
    t.match(await client.images.generate({ ...beta, response_format: 'b64_json' }), { data: [{ b64_json: String }] })
    const picture = () => makeFile(png(60, 40), 'a.png', { type: 'image/png' })
    const mask = await picture()
    t.match(await client.images.edit({ ...alpha, image: [await picture(), await picture()], mask }), {
      data: [{ b64_json: String }],
    })
    t.match(await client.images.edit({ ...beta, image: await picture() }), { data: [{ url: /^http/ }] })
    // The oldest version cannot parse these.
    if (version === 4) return
    const drawn = await collect(await client.images.generate({ ...alpha, stream: true, partial_images: 1 }))
    t.same(
      drawn.map(({ type }) => type),
      ['image_generation.partial_image', 'image_generation.completed'],
    )
    const edited = await collect(await client.images.edit({ ...alpha, image: await picture(), stream: true }))
    t.equal(edited.at(-1)?.type, 'image_edit.completed')
  })
}

async function callModels(t: Test, client: OpenAI): Promise<void> {
  await t.test('models, listed and one by one, including a name with a slash', async t => {
    const all = await collect(client.models.list())
    for (const id of ['alpha-image-2', 'sim-chat', 'vendor/sim-chat']) {
      t.match(
        all.find(one => one.id === id),
        { id, object: 'model', created: Number, owned_by: String },
        caseName({ id }),
      )
      t.match(await client.models.retrieve(id), { id, object: 'model' }, caseName({ id }))
    }
    const answer = await client.chat.completions.create({ model: 'vendor/sim-chat', messages })
    t.equal(answer.choices[0]?.message.content, answerText)
    const missing = await caught(client.models.retrieve('missing'))
    t.match(missing, { status: 404, code: 'model_not_found' })
  })
}

async function raiseErrors(
  t: Test,
  connect: (more: { apiKey?: string }) => OpenAI,
  gateway: SdkGateway,
  Sdk: typeof OpenAI,
  version: number,
): Promise<void> {
  await t.test('every refusal is raised as its own class, with its code and the id in the log', async t => {
    const client = connect({})
    const ask = (content: string) => () =>
      client.chat.completions.create({ model, messages: [{ role: 'user', content }] })
    const as = (apiKey: string) => () => connect({ apiKey }).chat.completions.create({ model, messages })
    const wrong = { model, messages: 'none' } as unknown as { model: string; messages: typeof messages }
    const cases = [
      ['a key that is none', as('sk-none'), 401, Sdk.AuthenticationError, 'invalid_api_key'],
      [
        'a model that is none',
        () => client.chat.completions.create({ model: 'none', messages }),
        404,
        Sdk.NotFoundError,
        'model_not_found',
      ],
      ['a model that the key may not use', as(gateway.keys.barred), 403, Sdk.PermissionDeniedError, undefined],
      ['a spent budget', as(gateway.keys.broke), 402, Sdk.APIError, 'insufficient_quota'],
      ['a limit', as(gateway.keys.spent), 429, Sdk.RateLimitError, 'rate_limit_exceeded'],
      [
        'a field that the gateway cannot read',
        () => client.images.generate({ model: 'beta-imagine-image', prompt: 'a', size: 'huge' }),
        400,
        Sdk.BadRequestError,
        undefined,
      ],
      [
        'a field that the upstream refuses',
        () => client.chat.completions.create(wrong),
        400,
        Sdk.BadRequestError,
        'invalid_type',
      ],
      [
        'a tool that would make images for nothing',
        () => client.responses.create({ model, input: 'draw a boat', tools: [{ type: 'image_generation' }] }),
        400,
        Sdk.BadRequestError,
        'vendor_tool_refused',
      ],
      ['a body that is too long', ask('x'.repeat(bodyBytesMax)), 413, Sdk.APIError, undefined],
      ['an upstream that fails', ask('[[status 500]]'), 500, Sdk.InternalServerError, undefined],
      ['an upstream that is busy', ask('[[status 429 7]]'), 429, Sdk.RateLimitError, 'rate_limit_exceeded'],
      ['an upstream that is overloaded', ask('[[status 503]]'), 503, Sdk.InternalServerError, 'server_is_overloaded'],
    ] as const
    for (const [title, call, status, kind, code] of cases) {
      const error = await caught(call)
      t.type(error, kind, title)
      t.equal(error.status, status, title)
      if (code !== undefined) t.equal(error.code, code, title)
      t.ok(error.message.length > 20, error.message)
      const [log] = await gateway.logs(1)
      t.equal(version === 4 ? error.request_id : error.requestID, log?.id, `${title}: the id in the log`)
      if (status === 429)
        t.match(headerOf(error, 'retry-after'), code && title === 'a limit' ? /^[1-9]\d?$/ : '7', title)
    }
    const limited = await caught(as(gateway.keys.spent))
    t.equal(headerOf(limited, 'x-ratelimit-limit-requests'), '1')
  })
}

async function breakStreams(t: Test, client: OpenAI, Sdk: typeof OpenAI, version: number): Promise<void> {
  const prompt = (mark: string) => ({ model, messages: [{ role: 'user' as const, content: `a red boat ${mark}` }] })

  await t.test('a stream that the upstream cuts raises an error, with what came before it', async t => {
    const chat = await readOut(await client.chat.completions.create({ ...prompt('[[cut]]'), stream: true }))
    t.type(chat.error, Sdk.APIError)
    t.ok(chat.count > 0)
    const response = await readOut(await client.responses.create({ model, input: 'a red boat [[cut]]', stream: true }))
    t.type(response.error, Sdk.APIError)
    t.ok(response.count > 0)
    await t.rejects(async () => {
      const order = { model: 'sim-speech', voice: 'alloy' as const, input: 'a boat on the sea [[cut]]' }
      return (await client.audio.speech.create({ ...order, response_format: 'wav' })).arrayBuffer()
    })
  })

  await t.test('an answer that the upstream cuts is raised', async t => {
    await t.rejects(client.chat.completions.create(prompt('[[cut]]')))
    await t.rejects(client.responses.create({ model, input: '[[cut]]' }))
    await t.rejects(client.embeddings.create({ model: 'sim-embedding', input: '[[cut]]' }))
  })

  await t.test("an upstream's error within a stream passes unchanged, for the SDK to raise", async t => {
    const chat = await readOut(await client.chat.completions.create({ ...prompt('[[error-event]]'), stream: true }))
    t.match(chat.error, { code: 'server_is_overloaded' })
    const order = { model, input: 'a red boat [[error-event]]', stream: true } as const
    const { error } = await readOut(await client.responses.create(order))
    if (version === 7) t.match(error, { code: 'server_is_overloaded' })
    else if (version === 4) t.match(error, { message: /refuses with 503/ }, 'this version only has the message')
    else t.equal(error, undefined, 'this version gives the event as it gives any other')
  })
}
