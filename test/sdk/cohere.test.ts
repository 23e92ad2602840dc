import { Cohere, CohereClient, CohereClientV2, CohereError } from 'cohere-ai'
import t from 'tap'
import { bodyBytesMax, caught, startForSdk } from './sdk-gateway.ts'
import { caseName } from '../harness/case-name.ts'

const model = 'sim-rerank'
const query = 'red boat'
const order = { model, query, documents: ['winter', 'a red boat', 'a boat'] }
const ranked = [
  { index: 1, relevanceScore: 1 },
  { index: 2, relevanceScore: 0.5 },
  { index: 0, relevanceScore: 0 },
]
const meta = { billedUnits: { searchUnits: 1 } }

t.test('cohere 8', async t => {
  const gateway = await startForSdk(t)
  const connect = (more: { environment?: string; token?: string } = {}) => {
    return { environment: gateway.url, token: gateway.key, maxRetries: 0, ...more }
  }
  const first = new CohereClient(connect())
  const second = new CohereClientV2(connect())

  await t.test('rerank of the first version takes and returns objects', async t => {
    const documents = ['winter', { text: 'a red boat' }, { text: 'a boat' }]
    const answer = await first.rerank({ model, query, documents, topN: 2, returnDocuments: true })
    t.match(answer, {
      id: String,
      results: [
        { ...ranked[0], document: { text: 'a red boat' } },
        { ...ranked[1], document: { text: 'a boat' } },
      ],
      meta: { apiVersion: { version: '1' }, ...meta },
    })
    t.equal(answer.results.length, 2)
    const [log] = await gateway.logs(1)
    t.match(log, { operation: 'rerank', model, status: 200 })
    const { rawResponse } = await first.rerank(order).withRawResponse()
    t.equal(rawResponse.headers.get('x-request-id'), (await gateway.logs(1))[0]?.id)
  })

  await t.test('rerank of the second version, by either client', async t => {
    for (const client of [second, first.v2]) {
      const answer = await client.rerank(order)
      t.match(answer, { results: ranked, meta: { apiVersion: { version: '2' }, ...meta } }, caseName({ client }))
      t.equal((await client.rerank({ ...order, topN: 1 })).results.length, 1, caseName({ client }))
    }
  })

  await t.test('a base address with /v1, and with two of them', async t => {
    for (const environment of [`${gateway.url}/v1`, `${gateway.url}/v1/`]) {
      t.match(await new CohereClient(connect({ environment })).rerank(order), { results: ranked }, environment)
      t.match(await new CohereClientV2(connect({ environment })).rerank(order), { results: ranked }, environment)
    }
  })

  await t.test('every refusal is raised as its own class, with its message', async t => {
    const ask = (text: string) => () => second.rerank({ ...order, query: text })
    const as = (token: string) => () => new CohereClient(connect({ token })).rerank(order)
    const cases = [
      ['a key that is none', as('sk-none'), 401, Cohere.UnauthorizedError],
      ['a model that is none', () => first.rerank({ ...order, model: 'none' }), 404, Cohere.NotFoundError],
      ['a model that the key may not use', as(gateway.keys.barred), 403, Cohere.ForbiddenError],
      ['a spent budget', as(gateway.keys.broke), 402, CohereError],
      ['a limit', as(gateway.keys.spent), 429, Cohere.TooManyRequestsError],
      [
        'a field that the upstream refuses',
        () => first.rerank({ ...order, documents: [] }),
        400,
        Cohere.BadRequestError,
      ],
      ['a body that is too long', ask('x'.repeat(bodyBytesMax)), 413, CohereError],
      ['an upstream that fails', ask('[[status 500]]'), 500, Cohere.InternalServerError],
      ['an upstream that is busy', ask('[[status 429 7]]'), 429, Cohere.TooManyRequestsError],
      ['an upstream that is overloaded', ask('[[status 503]]'), 503, Cohere.ServiceUnavailableError],
    ] as const
    for (const [title, call, status, kind] of cases) {
      const error = (await caught(call)) as unknown as CohereError
      t.type(error, kind, title)
      t.equal(error.statusCode, status, title)
      t.match(error.body, { message: /.{20}/ }, title)
      const { headers } = error.rawResponse ?? {}
      t.equal(headers?.get('x-request-id'), (await gateway.logs(1))[0]?.id, `${title}: the id in the log`)
      if (status === 429) t.match(headers?.get('retry-after'), title === 'a limit' ? /^[1-9]\d?$/ : '7', title)
      t.equal(headers?.get('x-ratelimit-reset') ?? null, null, 'this SDK reads it as a time since the epoch')
    }
  })

  await t.test('an answer that the upstream cuts is raised', async t => {
    await t.rejects(() => first.rerank({ ...order, query: '[[cut]]' }))
    await t.rejects(() => second.rerank({ ...order, query: '[[cut]]' }))
  })
  t.comment(`cohere 8: ${await gateway.requests()} requests`)
})
