import { ApiError, type GenerateContentResponse, GoogleGenAI, Type } from '@google/genai'
import { ApiError as ApiError1, GoogleGenAI as GoogleGenAI1 } from 'genai1'
import t, { type Test } from 'tap'
import { bodyBytesMax, caught, collect, readOut, type SdkGateway, startForSdk } from './sdk-gateway.ts'
import { caseName } from '../harness/case-name.ts'

/** The versions in use, with the types of the newest: the older sends requests to `/v1beta`, the newer to `/v1`. */
const versions = [
  { version: '3', Sdk: GoogleGenAI, SdkError: ApiError },
  {
    version: '1',
    Sdk: GoogleGenAI1 as unknown as typeof GoogleGenAI,
    SdkError: ApiError1,
  },
] as const

const model = 'sim-generative'
const contents = 'a red boat'
const answerText = 'simulated answer to: a red boat'
const usageMetadata = { promptTokenCount: 3, candidatesTokenCount: 6, totalTokenCount: 9 }

for (const { version, Sdk, SdkError } of versions) {
  t.test(`genai ${version}`, async t => {
    const gateway = await startForSdk(t)
    const connect = (more: { baseUrl?: string; apiKey?: string; apiVersion?: string } = {}) => {
      const { baseUrl = gateway.url, apiKey = gateway.key, apiVersion } = more
      return new Sdk({ apiKey, httpOptions: { baseUrl }, ...(apiVersion !== undefined && { apiVersion }) })
    }
    const client = connect()
    await callContent(t, client, gateway)
    await callModels(t, client)
    await raiseErrors(t, connect, gateway, SdkError)
    await breakStreams(t, client, version === '3' ? SdkError : Error, version)
    await t.test('a base address without /v1 and with it, of either version', async t => {
      for (const baseUrl of [gateway.url, `${gateway.url}/v1`]) {
        for (const apiVersion of ['v1', 'v1beta']) {
          const { models } = connect({ baseUrl, apiVersion })
          t.equal((await models.generateContent({ model, contents })).text, answerText, `${baseUrl} ${apiVersion}`)
          t.equal(
            textOf(await collect(await models.generateContentStream({ model, contents }))),
            answerText,
            caseName({ baseUrl, apiVersion }),
          )
          t.match(await models.countTokens({ model, contents }), { totalTokens: 3 }, caseName({ baseUrl, apiVersion }))
          t.equal(
            (await models.embedContent({ model, contents })).embeddings?.length,
            1,
            caseName({ baseUrl, apiVersion }),
          )
          t.ok(
            (await collect(await models.list())).some(({ name }) => name === `models/${model}`),
            caseName({ baseUrl, apiVersion }),
          )
          t.equal((await models.get({ model })).name, `models/${model}`, caseName({ baseUrl, apiVersion }))
        }
      }
    })
    t.comment(`genai ${version}: ${await gateway.requests()} requests`)
  })
}

async function callContent(t: Test, { models, chats }: GoogleGenAI, gateway: SdkGateway): Promise<void> {
  await t.test('generateContent', async t => {
    const answer = await models.generateContent({ model, contents })
    t.equal(answer.text, answerText)
    t.match(answer, { usageMetadata, modelVersion: model, candidates: [{ finishReason: 'STOP' }] })
    const [log] = await gateway.logs(1)
    t.equal(answer.sdkHttpResponse?.headers?.['x-request-id'], log?.id, 'the request id is the one in the log')
    t.match(log, { operation: 'generate', model, usage: { input_tokens: 3, output_tokens: 6 } })
    const config = { systemInstruction: 'be brief', maxOutputTokens: 2, candidateCount: 2 }
    t.match(await models.generateContent({ model, contents, config }), {
      candidates: [{ finishReason: 'MAX_TOKENS' }, { finishReason: 'MAX_TOKENS' }],
      usageMetadata: { promptTokenCount: 5 },
    })
  })

  await t.test('generateContentStream, and a chat', async t => {
    const chunks = await collect(await models.generateContentStream({ model, contents }))
    t.equal(textOf(chunks), answerText)
    t.match(chunks.at(-1), { usageMetadata })
    t.match((await gateway.logs(1))[0], { usage: { input_tokens: 3, output_tokens: 6 }, outcome: 'answered' })
    const chat = chats.create({ model })
    t.equal((await chat.sendMessage({ message: contents })).text, answerText)
    t.equal(
      textOf(await collect(await chat.sendMessageStream({ message: 'and more' }))),
      'simulated answer to: and more',
    )
  })

  await t.test('a function is called, complete and streamed', async t => {
    const parameters = { type: Type.OBJECT, properties: { city: { type: Type.STRING } } }
    const config = { tools: [{ functionDeclarations: [{ name: 'look_up', parameters }] }] }
    const order = { model, contents: 'look_up Rome', config }
    const call = { name: 'look_up', args: { city: 'look_up Rome' } }
    t.match((await models.generateContent(order)).functionCalls, [call])
    t.match((await collect(await models.generateContentStream(order))).at(-1)?.functionCalls, [call])
  })

  await t.test('countTokens and embedContent, of one text and of several', async t => {
    t.match(await models.countTokens({ model, contents }), { totalTokens: 3 })
    const config = { outputDimensionality: 8 }
    const one = await models.embedContent({ model, contents, config })
    const two = await models.embedContent({ model, contents: [contents, 'winter'], config })
    t.same([one.embeddings?.length, two.embeddings?.length, two.embeddings?.[1]?.values?.length], [1, 2, 8])
    t.same(one.embeddings?.[0]?.values, two.embeddings?.[0]?.values)
    const [charge] = await gateway.charges(1)
    t.match(charge, { state: 'settled' })
    t.same(
      charge?.lines.map(({ tier }) => tier),
      ['input'],
      'vectors are no output',
    )
  })
}

async function callModels(t: Test, { models }: GoogleGenAI): Promise<void> {
  await t.test('models, page by page and one by one', async t => {
    const all = await collect(await models.list({ config: { pageSize: 2 } }))
    const names = all.map(({ name }) => name)
    t.equal(new Set(names).size, names.length)
    t.ok(names.includes('models/vendor/sim-chat'))
    t.match(await models.get({ model }), { name: `models/${model}` })
    t.match(await models.get({ model: 'models/vendor/sim-chat' }), { name: 'models/vendor/sim-chat' })
    t.match(await caught(models.get({ model: 'missing' })), { status: 404 })
  })
}

async function raiseErrors(
  t: Test,
  connect: (more: { apiKey?: string }) => GoogleGenAI,
  gateway: SdkGateway,
  SdkError: typeof ApiError,
): Promise<void> {
  await t.test('every refusal is raised with its status and word', async t => {
    const { models } = connect({})
    const ask = (text: string) => () => models.generateContent({ model, contents: text })
    const as = (apiKey: string) => () => connect({ apiKey }).models.generateContent({ model, contents })
    const wrong = { model, contents, config: { candidateCount: -1 } }
    const cases = [
      ['a key that is none', as('sk-none'), 401, 'UNAUTHENTICATED'],
      ['a model that is none', () => models.generateContent({ model: 'none', contents }), 404, 'NOT_FOUND'],
      ['a model that the key may not use', as(gateway.keys.barred), 403, 'PERMISSION_DENIED'],
      ['a spent budget', as(gateway.keys.broke), 402, 'FAILED_PRECONDITION'],
      ['a limit', as(gateway.keys.spent), 429, 'RESOURCE_EXHAUSTED'],
      ['a field that the upstream refuses', () => models.generateContent(wrong), 400, 'INVALID_ARGUMENT'],
      ['a body that is too long', ask('x'.repeat(bodyBytesMax)), 413, 'INVALID_ARGUMENT'],
      ['an upstream that fails', ask('[[status 500]]'), 500, 'INTERNAL'],
      ['an upstream that is busy', ask('[[status 429 7]]'), 429, 'RESOURCE_EXHAUSTED'],
      [
        'a stream that the upstream refuses',
        () => models.generateContentStream({ model, contents: '[[status 503]]' }),
        503,
        'UNAVAILABLE',
      ],
    ] as const
    for (const [title, call, status, word] of cases) {
      const raised = await caught(call)
      t.type(raised, SdkError, title)
      t.equal(raised.status, status, title)
      const { error } = JSON.parse(raised.message) as { error: { code: number; status: string; details?: object[] } }
      t.match(error, { code: status, status: word, message: String }, title)
      if (status === 429)
        t.match(
          error.details?.find(one => 'retryDelay' in one),
          { retryDelay: /^[1-9]\d?s$/ },
          title,
        )
    }
  })
}

/**
 * Version 1 reads an error's record as content: the data that the gateway adds after the record reports the cut to it.
 */
async function breakStreams(
  t: Test,
  { models }: GoogleGenAI,
  Raised: typeof Error | typeof ApiError,
  version: string,
): Promise<void> {
  await t.test('a stream that the upstream cuts raises an error, with what came before it', async t => {
    const stream = await models.generateContentStream({ model, contents: 'a red boat [[cut]]' })
    const { error, count } = await readOut(stream)
    t.type(error, Raised)
    t.ok(count > 0)
    await t.rejects(models.generateContent({ model, contents: '[[cut]]' }), 'an answer that is no stream too')
  })

  await t.test("an upstream's error within a stream passes unchanged, for the SDK to raise", async t => {
    const stream = await models.generateContentStream({ model, contents: 'a red boat [[error-event]]' })
    const { error } = await readOut(stream)
    if (version === '3') t.match(error, { status: 503 })
    else t.equal(error, undefined, 'this version has no eye for it')
  })
}

function textOf(chunks: readonly GenerateContentResponse[]): string {
  return chunks.map(({ text }) => text ?? '').join('')
}
