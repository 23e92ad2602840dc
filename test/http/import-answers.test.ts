import { generateKeyPairSync } from 'node:crypto'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import t from 'tap'
import { parse } from 'yaml'
import { importConfig } from '../../src/index.ts'
import { makeFolder } from '../harness/folder.ts'
import { ask, keysOf, messages, movedTo, requestsOf, vendorAt } from '../harness/import-vendor.ts'
import { tablePath } from '../harness/import-shapes.ts'
import { start } from '../harness/start.ts'
import { startUpstream } from '../harness/upstream.ts'

// Imports typical configurations of teams, and sends a request for each model as its clients would. One server stands
// for every vendor: the first part of the path is the vendor's host, and only the vendor's own paths get an answer.

const folder = new URL('../fixtures/import/moves/', import.meta.url)

/** The path of each API format, by host. */
const places: readonly RegExp[] = [
  /^\/api\.openai\.com\/v1\/(?:chat\/completions|embeddings|audio\/speech|audio\/transcriptions|moderations)$/,
  /^\/api\.anthropic\.com\/v1\/messages$/,
  /^\/generativelanguage\.googleapis\.com\/(?:v1|v1beta)\/models\/gemini-2\.5-(?:pro|flash):generateContent$/,
  /^\/generativelanguage\.googleapis\.com\/v1beta\/models\/gemini-embedding-001:(?:embedContent|batchEmbedContents)$/,
  /^\/generativelanguage\.googleapis\.com\/v1beta\/openai\/(?:chat\/completions|embeddings)$/,
  /^\/(?:us-central1-|us-east5-|europe-west4-)?aiplatform\.googleapis\.com\/v1\/projects\/acme-\w+\/locations\/[\w-]+\/(?:publishers\/google\/models\/(?:[\w.-]+:generateContent|gemini-embedding-2:embedContent)|publishers\/anthropic\/models\/[\w.@-]+:rawPredict|endpoints\/openapi\/chat\/completions)$/,
  /^\/bedrock-runtime\.(?:us-west-2|us-east-1|eu-central-1)\.amazonaws\.com\/(?:anthropic\/v1\/messages|openai\/v1\/chat\/completions)$/,
  /^\/acme-(?:east|west)\.openai\.azure\.com\/openai\/v1\/chat\/completions$/,
  /^\/vllm-base-is-not-set\.invalid\/v1\/chat\/completions$/,
  /^\/acme\.services\.ai\.azure\.com\/(?:openai\/v1\/chat\/completions|anthropic\/v1\/messages)$/,
  /^\/api\.groq\.com\/openai\/v1\/(?:chat\/completions|audio\/transcriptions)$/,
  /^\/api\.(?:deepseek\.com|mistral\.ai|x\.ai)\/v1\/(?:chat\/completions|embeddings)$/,
  /^\/api\.elevenlabs\.io\/v1\/(?:text-to-speech\/(?:21m00Tcm4TlvDq8ikWAM|EXAVITQu4vr4xnSDxMaL)|speech-to-text)$/,
  /^\/openrouter\.ai\/api\/v1\/chat\/completions$/,
  /^\/api\.cohere\.com\/v[12]\/rerank$/,
  /^\/(?:ollama:11434|vllm:8000|192\.168\.1\.20:1234|tei\.internal:8080|llm\.example\.com)\/v1\/(?:chat\/completions|embeddings)$/,
]

/** Names in a file that have a known price, determined without the importer. */
async function pricedNames(file: URL): Promise<ReadonlySet<string>> {
  const { model_list: lines } = parse(await readFile(file, 'utf8')) as {
    model_list: { model_name: string; litellm_params: Record<string, unknown>; model_info?: { base_model?: string } }[]
  }
  const table = Object.keys(JSON.parse(await readFile(tablePath, 'utf8')) as object)
  const isPriced = (target: string): boolean =>
    target.endsWith(':free') ||
    table.some(row => target.endsWith(row) || row.endsWith(target) || target.endsWith(row.replace(/^.*\//, '')))
  return new Set(
    lines.flatMap(({ model_name: name, litellm_params: params, model_info: facts }) => {
      const isLocal = /\/\/(?:ollama|vllm|192\.|tei\.internal)/.test(String(params['api_base']))
      const isStated = 'input_cost_per_token' in params
      const known = isLocal || isStated || isPriced(facts?.base_model ?? String(params['model']))
      return known && !name.includes('*') ? [name] : []
    }),
  )
}

t.test('nine in ten priced names of a dozen configurations serve the clients of their API format', async t => {
  const place = await makeFolder(t)
  const fake = await startUpstream(vendorAt(path => places.some(place => place.test(path))))
  t.teardown(() => fake.close())
  const account = place.path('account.json')
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const written = {
    type: 'service_account',
    client_email: 'a@b.example',
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    token_uri: `${fake.url}/oauth2.googleapis.com/token`,
  }
  await writeFile(account, JSON.stringify(written))
  const files = (await readdir(folder)).toSorted()
  t.ok(files.length >= 12)
  let [wanted, answered] = [0, 0]
  const missing: string[] = []
  for (const name of files) {
    const imported = await importConfig(new URL(name, folder).pathname, 'litellm', {
      prices: tablePath,
      localFree: true,
    })
    if (!imported.ok) throw new Error(JSON.stringify(imported.findings))
    const text = movedTo(fake.url, imported.text).replaceAll('${file:account.json}', `\${file:${account}}`)
    const { gateway, url, key, plan } = await start(t, { yaml: text, upstreams: [], env: keysOf(text) })
    for (const model of plan.models.keys()) {
      if (!name.startsWith('gemini') || !model.startsWith('vectors')) continue
      const two = await ask(url, key, ['/v1/embeddings', { model, input: ['Hello', 'you'] }])
      t.equal(two.status, 200, `${name}: two texts for ${model}`)
    }
    const broken = new Set<string>()
    const requests = [...plan.models.values()].flatMap(model => requestsOf(model).map(one => [model, one] as const))
    for (const [model, one] of requests) {
      const response = await ask(url, key, one)
      t.equal(response.status, 200, `${name}: ${model.name} at ${one[0]}: ${await response.text()}`)
      if (response.status !== 200) broken.add(model.name)
    }
    const priced = await pricedNames(new URL(name, folder))
    wanted += priced.size
    const silent = [...priced].filter(one => broken.has(one) || !plan.models.has(one))
    answered += priced.size - silent.length
    missing.push(...silent.map(one => `${name}: ${one}`))
    await gateway.close()
  }
  t.ok(answered / wanted >= 0.9, `${answered} of ${wanted}; not ${missing.join(', ')}`)
  t.comment(`${answered} of ${wanted} priced names answer`)
  t.same(missing, ['bedrock.yaml: nova', 'voices.yaml: moderate'], 'a separate format, and a mode that no line gives')
  const claude = fake.received.find(one => one.url.endsWith(':rawPredict'))
  t.match(claude?.headers, { authorization: 'Bearer a-token' })
  t.same(claude?.json(), { max_tokens: 9, messages, anthropic_version: 'vertex-2023-10-16' })
  // Requests in the model's own format: the first of the two that each Claude model receives.
  const bedrock = fake.received.filter(
    ({ url, body }) => url.includes('bedrock-runtime') && !/"max_tokens":8192/.test(String(body)),
  )
  t.match(
    bedrock.map(one => one.headers.authorization),
    [
      /^AWS4-HMAC-SHA256 Credential=key-of-AWS_ACCESS_KEY_ID\/\d{8}\/us-west-2\/bedrock\/aws4_request/,
      /\/us-east-1\/bedrock\/aws4_request/,
      undefined,
      /\/us-west-2\/bedrock\/aws4_request/,
    ],
  )
  t.equal(bedrock[2]?.headers['x-api-key'], 'key-of-AWS_BEARER_TOKEN_BEDROCK')
  const voices = fake.received.filter(({ url }) => url.includes('elevenlabs.io/v1/text'))
  t.match(
    voices.map(one => [one.url.replace(/^.*\//, ''), one.headers['xi-api-key'], one.json()]),
    [
      ['21m00Tcm4TlvDq8ikWAM', 'key-of-ELEVENLABS_API_KEY', { model_id: 'eleven_multilingual_v2', text: 'Hello' }],
      ['21m00Tcm4TlvDq8ikWAM?output_format=mp3_44100_128', 'key-of-ELEVENLABS_API_KEY', { text: 'Hello' }],
      [
        '21m00Tcm4TlvDq8ikWAM',
        'key-of-ELEVENLABS_API_KEY',
        { model_id: 'eleven_v3', voice_settings: { stability: 0.5 } },
      ],
      ['21m00Tcm4TlvDq8ikWAM?output_format=pcm_24000', 'key-of-ELEVENLABS_API_KEY', { model_id: 'eleven_v3' }],
    ],
    'clients of its own format and of the common one, the latter with what the file sets for a model',
  )
  const azure = fake.received.filter(one => one.url.includes('azure.com/openai/v1'))
  t.same([...new Set(azure.map(one => String(one.json()['model'])))].toSorted(), [
    'acme-4o',
    'acme-o3',
    'gpt-4o',
    'grok-4',
  ])
  t.ok(azure.some(one => one.headers.authorization === 'Bearer a-token' && one.json()['model'] === 'acme-4o'))
})
