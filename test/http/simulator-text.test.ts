import t from 'tap'
import { startSimulator } from '../../src/simulator/index.ts'
import { caseName } from '../harness/case-name.ts'

const model = 'any-model'
/** One simulator for all tests: a result depends only on its own request. */
const simulator = await startSimulator()
t.teardown(() => simulator.close())
const url = simulator.url('text') ?? ''

const version = { 'anthropic-version': '2023-06-01' }
const answerText = 'simulated answer to: a red boat'

t.test('a chat completion answers its prompt deterministically, and counts words as tokens', async t => {
  const order = { model, messages: [{ role: 'system', content: 'be brief' }, ...say('a red boat')] }
  const answer = await json(post('/v1/chat/completions', order))
  t.match(answer, {
    id: /^chatcmpl-/,
    object: 'chat.completion',
    created: Number,
    model,
    choices: [{ index: 0, message: { role: 'assistant', content: answerText, refusal: null }, finish_reason: 'stop' }],
    usage: {
      prompt_tokens: 5,
      completion_tokens: 6,
      total_tokens: 11,
      prompt_tokens_details: { cached_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0 },
    },
  })
  const again = await json(post('/v1/chat/completions', order))
  t.same(again['choices'], answer['choices'])
})

t.test('several choices are several answers, counted together', async t => {
  const answer = await json(post('/v1/chat/completions', { model, messages: say('a red boat'), n: 3 }))
  t.match(answer['choices'], [
    { index: 0, message: { content: answerText } },
    { index: 1, message: { content: 'simulated answer 2 to: a red boat' } },
    { index: 2, message: { content: 'simulated answer 3 to: a red boat' } },
  ])
  t.match(answer['usage'], { completion_tokens: 6 + 7 + 7 })
})

t.test('a streamed chat completion reports usage last, without choices, only on request', async t => {
  const order = { model, messages: say('a red boat [[cached 2]]'), stream: true }
  const plain = await records(post('/v1/chat/completions', order))
  t.equal(plain.at(-1)?.data, '[DONE]')
  t.notOk(plain.some(({ data }) => data.includes('usage')))
  const chunks = plain.slice(0, -1).map(({ data }) => JSON.parse(data) as Chunk)
  t.equal(chunks.map(chunk => chunk.choices[0]?.delta.content ?? '').join(''), answerText)
  t.equal(chunks.at(-1)?.choices[0]?.finish_reason, 'stop')

  const counted = await records(post('/v1/chat/completions', { ...order, stream_options: { include_usage: true } }))
  const values = counted.slice(0, -1).map(({ data }) => JSON.parse(data) as Chunk)
  const last = values.pop()
  t.same(last?.choices, [])
  t.match(last?.usage, { prompt_tokens: 5, completion_tokens: 6, prompt_tokens_details: { cached_tokens: 2 } })
  t.ok(values.every(chunk => chunk.usage === null && chunk.choices.length === 1))
  t.ok(
    counted.every(({ event }) => event === undefined),
    'no record has a name',
  )
})

t.test('a tool is called if the prompt names it or the client insists, unless the prompt is its result', async t => {
  const schema = { type: 'object', properties: { city: { type: 'string' }, days: { type: 'integer' } } }
  const tools = [{ type: 'function', function: { name: 'look_up', parameters: schema } }]
  const ask = (content: string, more: object = {}) =>
    json(post('/v1/chat/completions', { model, messages: say(content), tools, ...more }))
  const calls = [
    {
      message: { content: null, tool_calls: [{ type: 'function', function: { name: 'look_up' } }] },
      finish_reason: 'tool_calls',
    },
  ]
  const answer = await ask('please look_up Rome')
  t.match(answer['choices'], calls)
  const [choice] = answer['choices'] as { message: { tool_calls: { function: { arguments: string } }[] } }[]
  t.same(JSON.parse(choice?.message.tool_calls[0]?.function.arguments ?? ''), {
    city: 'please look_up Rome',
    days: 1,
  })
  t.match((await ask('Rome'))['choices'], [{ finish_reason: 'stop' }])
  t.match((await ask('Rome', { tool_choice: 'required' }))['choices'], calls)
  t.match((await ask('Rome', { tool_choice: { type: 'function', function: { name: 'look_up' } } }))['choices'], calls)
  t.match((await ask('look_up', { tool_choice: 'none' }))['choices'], [{ finish_reason: 'stop' }])
  const result = [...say('look_up Rome'), { role: 'tool', tool_call_id: 'call_1', content: 'look_up says rain' }]
  t.match((await ask('', { messages: result }))['choices'], [{ message: { content: /look_up says rain$/ } }])
})

t.test('an answer ends at its token limit, in every format', async t => {
  const prompt = 'a red boat'
  const chat = await json(post('/v1/chat/completions', { model, messages: say(prompt), max_completion_tokens: 2 }))
  t.match(chat['choices'], [{ message: { content: /^simulated answer$/ }, finish_reason: 'length' }])
  const response = await json(post('/v1/responses', { model, input: prompt, max_output_tokens: 2 }))
  t.match(response, { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } })
  const message = await json(post('/v1/messages', { model, max_tokens: 2, messages: say(prompt) }, version))
  t.match(message, {
    content: [{ text: /^simulated answer$/ }],
    stop_reason: 'max_tokens',
    usage: { output_tokens: 2 },
  })
  const config = { contents: contents(prompt), generationConfig: { maxOutputTokens: 2 } }
  const generated = await json(post('/v1/models/m:generateContent', config))
  t.match(generated, { candidates: [{ finishReason: 'MAX_TOKENS' }], usageMetadata: { candidatesTokenCount: 2 } })
})

t.test('an answer follows a requested schema', async t => {
  const schema = { type: 'object', properties: { name: { enum: ['Ann'] }, tags: { type: 'array', items: {} } } }
  const chat = { model, messages: say('who'), response_format: { type: 'json_schema', json_schema: { schema } } }
  const { choices } = (await json(post('/v1/chat/completions', chat))) as {
    choices?: { message: { content: string } }[]
  }
  t.same(JSON.parse(choices?.[0]?.message.content ?? ''), { name: 'Ann', tags: ['who'] })
})

const recipe = {
  type: 'object',
  properties: {
    name: { type: 'string', minLength: 12 },
    kind: { enum: ['soup', 'cake'] },
    minutes: { type: 'integer', minimum: 5, maximum: 9 },
    steps: { type: 'array', minItems: 2, items: { $ref: '#/$defs/step' } },
    day: { type: 'string', format: 'date' },
    note: { anyOf: [{ type: 'string', maxLength: 3 }, { type: 'null' }] },
  },
  required: ['name', 'kind', 'minutes', 'steps', 'day', 'note'],
  additionalProperties: false,
  $defs: { step: { type: 'object', properties: { hot: { type: 'boolean' } }, required: ['hot'] } },
}
const cooked = {
  name: 'a red boat..',
  kind: 'soup',
  minutes: 5,
  steps: [{ hot: true }, { hot: true }],
  day: '2026-01-02',
  note: 'a r',
}

t.test('[6.8] an answer satisfies the requested schema, in every format', async t => {
  const prompt = 'a red boat'
  const chat = await json(
    post('/v1/chat/completions', {
      model,
      messages: say(prompt),
      response_format: { type: 'json_schema', json_schema: { name: 'recipe', schema: recipe } },
    }),
  )
  t.same(JSON.parse(textIn(chat)), cooked)
  const format = { type: 'json_schema', name: 'recipe', schema: recipe }
  t.same(JSON.parse(textIn(await json(post('/v1/responses', { model, input: prompt, text: { format } })))), cooked)
  for (const place of [{ output_config: { format } }, { output_format: format }]) {
    const order = { model, max_tokens: 99, messages: say(prompt), ...place }
    t.same(JSON.parse(textIn(await json(post('/v1/messages', order, version)))), cooked, caseName({ place }))
  }
  for (const config of [
    { generationConfig: { responseMimeType: 'application/json', responseJsonSchema: recipe } },
    { generation_config: { response_mime_type: 'application/json', response_schema: recipe } },
  ]) {
    const answer = await json(post('/v1/models/m:generateContent', { contents: contents(prompt), ...config }))
    t.same(JSON.parse(textIn(answer)), cooked, caseName({ config }))
  }
})

t.test('[6.8] an answer is a JSON object if only that is requested', async t => {
  const type = 'json_object'
  const order = { model, messages: say('a red boat'), response_format: { type } }
  const wanted = { answer: 'a red boat' }
  t.same(JSON.parse(textIn(await json(post('/v1/chat/completions', order)))), wanted)
  const request = { model, input: 'a red boat', text: { format: { type } } }
  t.same(JSON.parse(textIn(await json(post('/v1/responses', request)))), wanted)
  const generationConfig = { responseMimeType: 'application/json' }
  const config = { contents: contents('a red boat'), generationConfig }
  t.same(JSON.parse(textIn(await json(post('/v1/models/m:generateContent', config)))), wanted)
})

t.test('[6.8] a schema that branches into itself is answered at once, and a recursive one ends', async t => {
  const branches = { type: 'array', items: { $ref: '#/$defs/tree' }, minItems: 9 }
  const tree = { type: 'object', properties: { a: branches, b: branches }, required: ['a', 'b'] }
  const list = {
    type: 'object',
    properties: { next: { anyOf: [{ $ref: '#/$defs/list' }, { type: 'null' }] } },
    required: ['next'],
  }
  for (const [name, of] of Object.entries({ tree, list })) {
    const schema = { $ref: `#/$defs/${name}`, $defs: { [name]: of } }
    const order = {
      model,
      messages: say('a'),
      response_format: { type: 'json_schema', json_schema: { name, schema } },
    }
    const text = textIn(await json(post('/v1/chat/completions', order)))
    t.ok(text.length < 500_000, `${name}: ${text.length} characters`)
    t.type(JSON.parse(text), 'object', caseName({ name, of }))
  }
})

t.test('[6.8] tokens written to a cache are reported where SDK types expect them', async t => {
  const chat = await json(post('/v1/chat/completions', { model, messages: say('a red boat') }))
  t.match(chat['usage'], { prompt_tokens_details: { cache_write_tokens: 0 } })
  const response = await json(post('/v1/responses', { model, input: 'a red boat' }))
  t.match(response['usage'], { input_tokens_details: { cache_write_tokens: 0 } })
})

/** The text of an answer in any style. */
function textIn(answer: Readonly<Record<string, unknown>>): string {
  const found = /"(?:content|text)":("(?:[^"\\]|\\.)*")/.exec(JSON.stringify(answer))
  return JSON.parse(found?.[1] ?? '""') as string
}

t.test('a response has one message and its usage, and streams in the order of its kind', async t => {
  const order = { model, input: 'a red boat', instructions: 'be brief' }
  const whole = await json(post('/v1/responses', order))
  const message = { type: 'message', status: 'completed', content: [{ type: 'output_text', text: answerText }] }
  const usage = { input_tokens: 5, output_tokens: 6, total_tokens: 11, input_tokens_details: { cached_tokens: 0 } }
  t.match(whole, { object: 'response', status: 'completed', model, output: [message], usage })

  const events = await records(post('/v1/responses', { ...order, stream: true }))
  const values = events.map(({ data }) => JSON.parse(data) as Event)
  t.same(
    events.map(({ event }) => event),
    values.map(({ type }) => type),
    'every record is named by its type',
  )
  t.same(
    values.map(({ sequence_number }) => sequence_number),
    values.map((_, i) => i),
  )
  t.same(
    [...new Set(values.map(({ type }) => type))],
    [
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ],
  )
  t.equal(values.map(({ delta }) => delta ?? '').join(''), answerText)
  t.match(values.at(-1), { response: { output: [message], usage } })
})

t.test('a marker calls a tool with given arguments, and the call ends with the result of the tool', async t => {
  const input = { command: 'echo [1]' }
  const prompt = `Run it. [[call Bash ${JSON.stringify(input)}]]`
  const reminder = { role: 'system', content: 'Agent is a tool' }
  const tools = [{ name: 'Agent' }, { name: 'Bash', input_schema: { type: 'object' } }]
  const ask = (messages: object[]) => json(post('/v1/messages', { model, max_tokens: 99, messages, tools }, version))
  const first = [...say(prompt), reminder]
  const answer = await ask(first)
  t.match(answer, { content: [{ type: 'tool_use', name: 'Bash', input }], stop_reason: 'tool_use' })
  const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'done Bash' }] }
  const end = await ask([...first, { role: 'assistant', content: answer['content'] }, result, reminder])
  t.match(end, { content: [{ type: 'text', text: 'simulated answer to: done Bash' }], stop_reason: 'end_turn' })
  const order = {
    model,
    input: [...say(prompt), { role: 'developer', content: 'Agent is a tool' }],
    tools: [{ type: 'function', name: 'Bash', parameters: {} }],
  }
  const { output } = (await json(post('/v1/responses', order))) as { output: { arguments: string }[] }
  t.same(JSON.parse(output[0]?.arguments ?? ''), input)
  const custom = { type: 'custom_tool_call_output', call_id: 'call_1', output: 'done Bash' }
  const ended = { ...order, input: [...order.input, { type: 'custom_tool_call' }, custom] }
  t.match(await json(post('/v1/responses', ended)), { output: [{ type: 'message' }] })
})

t.test('a response calls the tool that its prompt names', async t => {
  const tools = [{ type: 'function', name: 'look_up', parameters: { properties: { city: {} } } }]
  const order = { model, input: [{ role: 'user', content: [{ type: 'input_text', text: 'look_up Rome' }] }], tools }
  const call = { type: 'function_call', name: 'look_up', arguments: '{"city":"look_up Rome"}' }
  t.match(await json(post('/v1/responses', order)), { output: [call] })
  const events = await records(post('/v1/responses', { ...order, stream: true }))
  t.match(JSON.parse(events.at(-1)?.data ?? ''), { response: { output: [call] } })
})

t.test('a response with the image tool has a picture if its prompt mentions one', async t => {
  const order = { model, input: 'draw a boat', tools: [{ type: 'image_generation', size: '1536x1024' }] }
  const answer = await json(post('/v1/responses', order))
  const picture = { type: 'image_generation_call', status: 'completed', size: '1536x1024', result: /^iVBORw0KGgo/ }
  t.match(answer, { output: [picture, { type: 'message' }] })
  const events = (await records(post('/v1/responses', { ...order, stream: true }))).map(
    ({ data }) => JSON.parse(data) as Event,
  )
  t.match(
    events.find(({ type }) => type === 'response.output_item.done'),
    { item: picture },
  )
  t.match(events.at(-1), { response: { output: [picture, { type: 'message' }] } })
  t.match(await json(post('/v1/responses', { ...order, input: 'hello' })), { output: [{ type: 'message' }] })
})

t.test('a message counts its system prompt and what was cached, and streams with named records', async t => {
  const order = { model, max_tokens: 99, system: 'be brief', messages: say('a red boat [[cached 3]]') }
  const whole = await json(post('/v1/messages', order, version))
  t.match(whole, {
    type: 'message',
    role: 'assistant',
    model,
    content: [{ type: 'text', text: answerText }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 4, cache_creation_input_tokens: 0, cache_read_input_tokens: 3, output_tokens: 6 },
  })
  const events = await records(post('/v1/messages', { ...order, stream: true }, version))
  const values = events.map(({ data }) => JSON.parse(data) as Event)
  t.same(
    [...new Set(events.map(({ event }) => event))],
    [
      'message_start',
      'content_block_start',
      'ping',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ],
  )
  t.match(values[0], { message: { content: [], usage: { input_tokens: 4, output_tokens: 1 } } })
  t.match(values.at(-2), { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 6 } })
  t.match(await json(post('/v1/messages/count_tokens', { ...order, max_tokens: undefined }, version)), {
    input_tokens: 7,
  })
})

t.test('the messages endpoint calls a tool, requires a version, and refuses fields that a version removed', async t => {
  const tools = [{ name: 'look_up', input_schema: { type: 'object', properties: { city: { type: 'string' } } } }]
  const order = { model, max_tokens: 99, messages: say('look_up Rome'), tools }
  const use = { type: 'tool_use', id: /^toolu_/, name: 'look_up', input: { city: 'look_up Rome' } }
  t.match(await json(post('/v1/messages', order, version)), { content: [use], stop_reason: 'tool_use' })
  const newest = { 'anthropic-version': '2026-10-21' }
  for (const [headers, more, message] of [
    [{}, {}, /anthropic-version: header is required/],
    [newest, { temperature: 0.5 }, /temperature/],
    [version, { max_tokens: undefined }, /max_tokens/],
    [version, { messages: [] }, /messages/],
  ] as const) {
    const answer = await post('/v1/messages', { ...order, ...more }, headers)
    t.equal(answer.status, 400, caseName({ headers, more, message }))
    t.match(
      await answer.json(),
      { type: 'error', error: { type: 'invalid_request_error', message } },
      caseName({ headers, more, message }),
    )
  }
  t.equal((await post('/v1/messages', { ...order, temperature: 0.5 }, version)).status, 200)
})

t.test('embeddings are floats or base64, of the requested dimensions, one for each input', async t => {
  const input = ['a red boat', 'a red ship', 'winter']
  const floats = await json(post('/v1/embeddings', { model, input, dimensions: 40 }))
  t.match(floats, { object: 'list', model, usage: { prompt_tokens: 7, total_tokens: 7 } })
  const vectors = (floats['data'] as { embedding: number[] }[]).map(({ embedding }) => embedding)
  t.same(
    vectors.map(vector => vector.length),
    [40, 40, 40],
  )
  const [boat = [], ship = [], winter = []] = vectors
  t.ok(Math.abs(Math.hypot(...boat) - 1) < 1e-6)
  t.ok(dot(boat, ship) > dot(boat, winter), 'texts with words in common are nearer')
  const coded = await json(post('/v1/embeddings', { model, input, dimensions: 40, encoding_format: 'base64' }))
  const [{ embedding: base64 } = { embedding: '' }] = coded['data'] as { embedding: string }[]
  t.same([...new Float32Array(new Uint8Array(Buffer.from(base64, 'base64')).buffer)], boat)
  const one = await json(post('/v1/embeddings', { model, input: [11, 12, 13] }))
  t.match(one, { data: [{ index: 0 }], usage: { prompt_tokens: 3 } }, 'numbers are the tokens of one text')
  for (const wrong of [undefined, [], '', [true]]) {
    t.equal((await post('/v1/embeddings', { model, input: wrong })).status, 400, caseName({ wrong }))
  }
})

t.test('generative-language methods answer under both versions, and count in every chunk', async t => {
  const order = { contents: contents('a red boat'), systemInstruction: { parts: [{ text: 'be brief' }] } }
  const usageMetadata = { promptTokenCount: 5, candidatesTokenCount: 6, totalTokenCount: 11 }
  for (const prefix of ['/v1/models/m', '/v1beta/models/vendor/m-1']) {
    t.match(
      await json(post(`${prefix}:generateContent`, order)),
      {
        candidates: [{ content: { parts: [{ text: answerText }], role: 'model' }, finishReason: 'STOP', index: 0 }],
        usageMetadata,
        modelVersion: prefix.split('models/')[1],
      },
      caseName({ prefix }),
    )
    t.match(await json(post(`${prefix}:countTokens`, order)), { totalTokens: 5 }, caseName({ prefix }))
    const events = await records(post(`${prefix}:streamGenerateContent?alt=sse`, order))
    const chunks = events.map(({ data }) => JSON.parse(data) as Generated)
    const array = (await (await post(`${prefix}:streamGenerateContent`, order)).json()) as Generated[]
    for (const list of [chunks, array]) {
      t.equal(list.map(textOfChunk).join(''), answerText, caseName({ prefix, list }))
      t.same(
        list.map(chunk => chunk.usageMetadata.candidatesTokenCount),
        [1, 2, 3, 4, 5, 6],
        caseName({ prefix, list }),
      )
      t.match(list.at(-1), { candidates: [{ finishReason: 'STOP' }], usageMetadata }, caseName({ prefix, list }))
    }
    const content = { parts: [{ text: 'a red boat' }] }
    const one = await json(post(`${prefix}:embedContent`, { content, outputDimensionality: 8 }))
    const many = await json(post(`${prefix}:batchEmbedContents`, { requests: [{ content, outputDimensionality: 8 }] }))
    t.same(many['embeddings'], [one['embedding']], caseName({ prefix }))
  }
})

t.test('generateContent calls a function', async t => {
  const parameters = { type: 'OBJECT', properties: { city: { type: 'STRING' } } }
  const order = {
    contents: contents('look_up Rome'),
    tools: [{ functionDeclarations: [{ name: 'look_up', parameters }] }],
  }
  const part = { functionCall: { name: 'look_up', args: { city: 'look_up Rome' } } }
  t.match(await json(post('/v1/models/m:generateContent', order)), { candidates: [{ content: { parts: [part] } }] })
})

t.test('speech has the requested format; formats that the simulator lacks are refused by name', async t => {
  const order = { model, voice: 'alloy', input: 'a red boat' }
  const speak = async (more: object) => {
    const answer = await post('/v1/audio/speech', { ...order, ...more })
    return { type: answer.headers.get('content-type'), bytes: Buffer.from(await answer.arrayBuffer()) }
  }
  const wav = await speak({ response_format: 'wav' })
  t.equal(wav.type, 'audio/wav')
  t.same([wav.bytes.toString('latin1', 0, 4), wav.bytes.readUInt32LE(40)], ['RIFF', wav.bytes.length - 44])
  const pcm = await speak({ response_format: 'pcm' })
  t.ok(pcm.bytes.equals(wav.bytes.subarray(44)))
  t.equal(pcm.bytes.length, 3 * 0.12 * 24_000 * 2)
  const mp3 = await speak({})
  t.equal(mp3.type, 'audio/mpeg')
  t.equal(mp3.bytes.length % 24, 0)
  for (let at = 0; at < mp3.bytes.length; at += 24)
    if (mp3.bytes.readUInt16BE(at) !== 0xfff3) t.fail(`no frame at ${at}`)
  const refusal = await post('/v1/audio/speech', { ...order, response_format: 'opus' })
  t.equal(refusal.status, 400)
  t.match(await refusal.json(), { error: { param: 'response_format', message: /'opus'.*mp3, wav, pcm/ } })

  const events = await records(post('/v1/audio/speech', { ...order, response_format: 'wav', stream_format: 'sse' }))
  const values = events.map(({ data }) => JSON.parse(data) as { type: string; audio?: string })
  t.match(values.pop(), { type: 'speech.audio.done', usage: { input_tokens: 3, output_tokens: 30, total_tokens: 33 } })
  t.ok(Buffer.concat(values.map(({ audio = '' }) => Buffer.from(audio, 'base64'))).equals(wav.bytes))
})

t.test('a transcription has every format, and a stream', async t => {
  const sound = Buffer.from(
    await (
      await post('/v1/audio/speech', { model, voice: 'v', input: 'one two three', response_format: 'wav' })
    ).arrayBuffer(),
  )
  const text = 'simulated transcript of 0.36 seconds of sound by the sea'
  const send = (more: { [name: string]: string }) => {
    const form = new FormData()
    for (const [name, value] of Object.entries({ model, prompt: 'by the sea', ...more })) form.append(name, value)
    form.append('file', new Blob([sound]), 'a.wav')
    return fetch(`${url}/v1/audio/transcriptions`, { method: 'POST', body: form })
  }
  t.same(await json(send({})), { text, usage: { type: 'duration', seconds: 1 } })
  t.match(await json(send({ response_format: 'verbose_json', 'timestamp_granularities[]': 'word' })), {
    task: 'transcribe',
    duration: 0.36,
    text,
    words: [{ word: 'simulated', start: 0 }],
    usage: { type: 'duration', seconds: 1 },
  })
  for (const [response_format, expected] of [
    ['text', `${text}\n`],
    ['srt', `1\n00:00:00,000 --> 00:00:00,360\n${text}\n\n\n`],
    ['vtt', `WEBVTT\n\n00:00:00.000 --> 00:00:00.360\n${text}\n\n`],
  ] as const) {
    const answer = await send({ response_format })
    t.match(answer.headers.get('content-type'), /^text\/plain/, caseName({ response_format, expected }))
    t.equal(await answer.text(), expected, caseName({ response_format, expected }))
  }
  const events = (await records(send({ stream: 'true' }))).slice(0, -1)
  const values = events.map(({ data }) => JSON.parse(data) as Event)
  t.match(values.pop(), { type: 'transcript.text.done', text, usage: { type: 'tokens', output_tokens: 10 } })
  t.equal(values.map(({ delta }) => delta ?? '').join(''), text)
  const form = new FormData()
  form.append('model', model)
  const refusal = await fetch(`${url}/v1/audio/transcriptions`, { method: 'POST', body: form })
  t.match(await refusal.json(), { error: { code: 'missing_required_parameter', param: 'file' } })
})

t.test('documents are ranked by the words they share with the query', async t => {
  const order = { model, query: 'red boat', documents: ['winter', { text: 'a red boat' }, 'a boat'], top_n: 2 }
  const first = await json(post('/v1/rerank', { ...order, return_documents: true }))
  t.match(first, {
    id: String,
    model,
    results: [
      { index: 1, relevance_score: 1, document: { text: 'a red boat' } },
      { index: 2, relevance_score: 0.5, document: { text: 'a boat' } },
    ],
    meta: { api_version: { version: '1' }, billed_units: { search_units: 1 } },
    usage: { prompt_tokens: 8, total_tokens: 8 },
  })
  const documents = Array.from({ length: 101 }, (_, i) => `boat ${i}`)
  const second = await json(post('/v2/rerank', { ...order, documents }))
  t.same(second['results'], [
    { index: 0, relevance_score: 0.5 },
    { index: 1, relevance_score: 0.5 },
  ])
  t.match(second['meta'], { api_version: { version: '2' }, billed_units: { search_units: 2 } })
  const refusal = await post('/v2/rerank', order)
  t.equal(refusal.status, 400)
  t.same(Object.keys((await refusal.json()) as object), ['message'])
})

/** One request of every style that streams. */
const styles = {
  chat: (prompt: string, stream: boolean) => post('/v1/chat/completions', { model, messages: say(prompt), stream }),
  responses: (prompt: string, stream: boolean) => post('/v1/responses', { model, input: prompt, stream }),
  messages: (prompt: string, stream: boolean) =>
    post('/v1/messages', { model, max_tokens: 99, messages: say(prompt), stream }, version),
  generative: (prompt: string, stream: boolean) => {
    const method = stream ? 'streamGenerateContent?alt=sse' : 'generateContent'
    return post(`/v1/models/m:${method}`, { contents: contents(prompt) })
  },
}
const names = ['chat', 'responses', 'messages', 'generative'] as const

t.test('a prompt can request a refusal, in the format of each API', async t => {
  const expected = {
    chat: { error: { type: 'requests', code: 'rate_limit_exceeded', param: null } },
    responses: { error: { type: 'requests', code: 'rate_limit_exceeded', param: null } },
    messages: { type: 'error', error: { type: 'rate_limit_error' } },
    generative: { error: { code: 429, status: 'RESOURCE_EXHAUSTED', details: [{ retryDelay: '7s' }] } },
  }
  for (const name of names) {
    for (const stream of [false, true]) {
      const answer = await styles[name]('boat [[status 429 7]]', stream)
      t.same([answer.status, answer.headers.get('retry-after')], [429, '7'], name)
      t.match(await answer.json(), expected[name], name)
      const other = await styles[name]('boat [[status 500]]', stream)
      t.same([other.status, other.headers.get('retry-after')], [500, null], name)
      await other.body?.cancel()
    }
  }
  const rerank = await post('/v1/rerank', { model, query: '[[status 503]]', documents: ['a'] })
  t.same([rerank.status, rerank.headers.get('retry-after')], [503, '1'])
  t.same(Object.keys((await rerank.json()) as object), ['message'])
})

t.test('a prompt can request that the connection breaks off in the middle', async t => {
  for (const name of names) {
    for (const stream of [false, true]) {
      const answer = await styles[name]('a red boat [[cut]]', stream)
      t.equal(answer.status, 200, name)
      const got = await readUntilCut(answer)
      t.ok(got.cut, `${name} is cut`)
      t.match(got.text, stream ? /simulated/ : /^\{/, `${name}: half of it came`)
    }
  }
  const speech = await post('/v1/audio/speech', { model, voice: 'v', input: '[[cut]] a boat on the sea' })
  t.ok((await readUntilCut(speech)).cut)
})

t.test('a prompt can request an error in the middle of a stream, in the format of each API', async t => {
  const expected = {
    chat: [undefined, { error: { type: 'service_unavailable_error', code: 'server_is_overloaded' } }],
    responses: ['error', { type: 'error', code: 'server_is_overloaded', sequence_number: Number }],
    messages: ['error', { type: 'error', error: { type: 'api_error' } }],
    generative: [undefined, { error: { code: 503, status: 'UNAVAILABLE' } }],
  } as const
  for (const name of names) {
    const all = await records(styles[name]('a red boat [[error-event]]', true))
    const last = all.pop()
    t.ok(all.length > 0, `${name}: something came before it`)
    t.equal(last?.event, expected[name][0], name)
    t.match(JSON.parse(last?.data ?? ''), expected[name][1], name)
    const whole = await styles[name]('a red boat [[error-event]]', false)
    t.equal(whole.status, 200, name)
    t.ok('error' in ((await whole.json()) as object), `${name}: an error with status 200`)
  }
})

t.test('a prompt can request a slow head, pauses between events, and many words', async t => {
  const began = performance.now()
  await json(styles.chat('[[slow 120]] boat', false))
  const slow = performance.now() - began
  t.ok(slow >= 119, `${slow} ms`)
  const again = performance.now()
  t.ok((await records(styles.messages('[[pause 10]] boat', true))).length >= 10)
  t.ok(performance.now() - again >= 95)
  const answer = await json(styles.chat('[[words 500]] boat', false))
  t.match(answer, { usage: { completion_tokens: 500 } })
})

t.test('a client that leaves a slow answer causes no error, and close does not wait for it', async t => {
  const other = await startSimulator()
  const leave = new AbortController()
  const body = JSON.stringify({ model, messages: say('[[slow 60000]] boat') })
  const headers = { 'content-type': 'application/json' }
  const left = fetch(`${other.url('text')}/v1/chat/completions`, {
    method: 'POST',
    headers,
    body,
    signal: leave.signal,
  })
  leave.abort()
  await t.rejects(left)
  const waiting = fetch(`${other.url('text')}/v1/chat/completions`, { method: 'POST', headers, body })
  await Promise.all([t.rejects(waiting), fetch(other.url('text') ?? '').then(() => other.close())])
})

t.test('an unknown object is a 404 that names the object, in a sentence of its vendor', async t => {
  const rows: readonly (readonly [path: string, message: string, options?: RequestInit])[] = [
    ['/v1/files/file-1', 'No such File object: file-1'],
    ['/v1/files/file_1', 'File not found: file_1', { headers: version }],
    ['/v1beta/files/f1', 'File files/f1 not found.'],
    ['/v1/batches', 'No such File object: file-1', batchOf('file-1')],
    ['/v1/batches/batch_1', "Batch 'batch_1' not found."],
    ['/v1/responses/resp_1', "Response with id 'resp_1' not found."],
    ['/v1/conversations/conv_1', "Conversation with id 'conv_1' not found."],
    ['/v1beta/cachedContents/c1', 'Cached content cachedContents/c1 not found.'],
    ['/v1/text-to-speech/v1', 'A voice with the voice_id v1 was not found.', { method: 'POST' }],
  ]
  for (const [path, message, options] of rows) {
    const response = await fetch(url + path, options)
    const body = (await response.json()) as { error?: { message: string }; detail?: { message: string } }
    t.equal(response.status, 404, path)
    t.equal((body.error ?? body.detail)?.message, message, path)
  }
})

function batchOf(input_file_id: string): RequestInit {
  return {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ input_file_id, endpoint: '/v1/chat/completions' }),
  }
}

t.test('the simulator lists the supported prompt keywords', async t => {
  const { upstreams, demands } = await json(fetch(url))
  t.ok(((upstreams as { text: string[] }).text ?? []).includes('POST /v1/chat/completions'))
  t.ok(Object.keys(demands as object).includes('[[status N]]'))
})

type Chunk = {
  readonly choices: readonly { delta: { content?: string }; finish_reason: string | null }[]
  readonly usage?: object | null
}
type Event = { readonly type: string; readonly sequence_number?: number; readonly delta?: string }
type Generated = {
  readonly candidates: readonly { content: { parts: readonly { text?: string }[] } }[]
  readonly usageMetadata: { readonly candidatesTokenCount: number }
}

function say(content: string) {
  return [{ role: 'user', content }]
}

function contents(text: string) {
  return [{ role: 'user', parts: [{ text }] }]
}

function textOfChunk({ candidates }: Generated): string {
  return candidates[0]?.content.parts[0]?.text ?? ''
}

function dot(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0)
}

function post(path: string, body: object, headers: { readonly [name: string]: string } = {}): Promise<Response> {
  return fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
}

async function json(answering: Promise<Response>): Promise<{ readonly [name: string]: unknown }> {
  const answer = await answering
  const text = await answer.text()
  if (answer.status !== 200) throw new Error(`${answer.status} ${text}`)
  return JSON.parse(text) as { readonly [name: string]: unknown }
}

/** The records of a stream; each has its data on one line. */
async function records(answering: Promise<Response>): Promise<{ event: string | undefined; data: string }[]> {
  const answer = await answering
  if (!answer.headers.get('content-type')?.startsWith('text/event-stream')) throw new Error(await answer.text())
  const all = (await answer.text()).split(/\r?\n\r?\n/)
  if (all.pop() !== '') throw new Error('the last record has no blank line')
  return all.map(record => {
    const lines = record.split('\n')
    const data = lines.pop() ?? ''
    return { event: lines[0]?.replace(/^event: /, ''), data: data.replace(/^data: /, '') }
  })
}

async function readUntilCut(answer: Response): Promise<{ text: string; cut: boolean }> {
  let text = ''
  try {
    for await (const chunk of answer.body ?? []) text += Buffer.from(chunk as Uint8Array).toString('latin1')
    return { text, cut: false }
  } catch {
    return { text, cut: true }
  }
}
