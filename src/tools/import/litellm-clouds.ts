import type { Fields } from './fields.ts'
import { readSetting, type Setting } from './litellm-setting.ts'
import type { Vendor } from './litellm-vendors.ts'
import type { SecretBook } from './secret-book.ts'
import type { Style } from './styles.ts'
import type { Tracked } from './tracked.ts'
import { writeForeign, writeMap } from './yaml-words.ts'

// Clouds whose address and credential have several parameters: a region, a project, two halves of a key.

/** A deployment in such a cloud. */
export type Cloud = {
  readonly vendor: Vendor
  /** The upstream's name of the model. */
  readonly sendAs: string
  /** The model's possible names in price tables, and the providers of those rows. */
  readonly rows: readonly string[]
  readonly providers: readonly string[]
  /** A YAML value. */
  readonly url: string
  /** Undefined if the key of the line is sent as the style does. */
  readonly credential: string | undefined
  readonly calls?: string
  /** The family of its conversations, if bodies differ from the usual ones. */
  readonly family?: string
}

export type CloudAround = {
  readonly variables: Fields
  readonly secrets: SecretBook
  readonly note: (text: string) => void
}

type FoundCloud = Cloud | { readonly why: string }

/** Undefined for a prefix that is not such a cloud. */
export function cloudOf(prefix: string, rest: string, params: Tracked, around: CloudAround): FoundCloud | undefined {
  if (prefix === 'bedrock' || prefix === 'bedrock_converse') return bedrock(rest, params, around)
  if (prefix === 'vertex_ai' || prefix === 'vertex_ai_beta') return vertex(rest, params, around)
  return undefined
}

/** Makers whose models Bedrock serves at paths of OpenAI. */
const openMakers = /^(?:openai|deepseek|qwen|google|zai|moonshot|moonshotai|minimax|nvidia)\./

function bedrock(rest: string, params: Tracked, around: CloudAround): FoundCloud {
  const path = rest.replace(/^(?:converse|invoke|converse_like)\//, '')
  const [, inPath, id = path] = /^([a-z]{2}(?:-[a-z]{1,9}){1,3}-\d)\/(.*)$/.exec(path) ?? []
  // The name of an inference profile starts with its region group, followed by the model.
  const model = id.replace(/^(?:us|eu|apac|au|jp|ca|sa|global|us-gov)\./, '')
  const style: Style | undefined = model.startsWith('anthropic.')
    ? 'anthropic'
    : openMakers.test(model)
      ? 'openai'
      : undefined
  if (style === undefined)
    return { why: `bedrock serves ${id} only in an API format of its own, and bodies are not translated` }
  const region = partOf(params, 'aws_region_name', around) ?? inPath ?? '${AWS_REGION:-us-east-1}'
  const base =
    partOf(params, 'aws_bedrock_runtime_endpoint', around) ?? `https://bedrock-runtime.${region}.amazonaws.com`
  const credential = awsCredential(params, region, around)
  if (typeof credential !== 'string' && credential) return credential
  return {
    vendor: { style, key: 'AWS_BEARER_TOKEN_BEDROCK', only: 'chat' },
    sendAs: id,
    rows: [`bedrock/${region}/${id}`, `bedrock/${id}`, id, model],
    providers: ['bedrock', 'bedrock_converse'],
    url: JSON.stringify(`${base}/${style}`),
    credential,
  }
}

/** A signature with the two halves of a key, or the line's `api_key`; undefined for the latter. */
function awsCredential(
  params: Tracked,
  region: string,
  { variables, secrets }: CloudAround,
): string | undefined | { readonly why: string } {
  if (params.has('api_key')) return undefined
  const halves: string[] = []
  for (const [name, variable] of [
    ['aws_access_key_id', 'AWS_ACCESS_KEY_ID'],
    ['aws_secret_access_key', 'AWS_SECRET_ACCESS_KEY'],
    ...(params.has('aws_session_token') ? [['aws_session_token', 'AWS_SESSION_TOKEN'] as const] : []),
  ] as const) {
    const kept = keep(readSetting(params.take(name) ?? `os.environ/${variable}`, variables), name, secrets, '-none')
    if ('why' in kept) return kept
    halves.push(JSON.stringify(kept.reference))
  }
  const [access, secret, session] = halves
  return writeMap([
    ['sign', 'aws-sigv4'],
    [
      'with',
      writeMap([
        ['access_key', access],
        ['secret_key', secret],
        ['session_token', session],
        ['region', JSON.stringify(region)],
        ['service', 'bedrock'],
      ]),
    ],
  ])
}

function vertex(rest: string, params: Tracked, around: CloudAround): FoundCloud {
  const base = partOf(params, 'api_base', around)
  // A base may be the whole path of a model; only its project and location count.
  const [, host, ownProject, ownPlace] =
    /^(https?:\/\/[^/]+)\/v1(?:beta1)?\/projects\/([^/]+)\/locations\/([^/]+)(?:\/|$)/.exec(base ?? '') ?? []
  const project = partOf(params, 'vertex_project', around) ?? ownProject ?? '${VERTEXAI_PROJECT:-project-is-not-set}'
  const place = partOf(params, 'vertex_location', around) ?? ownPlace ?? '${VERTEXAI_LOCATION:-us-central1}'
  const usual = `https://${place === 'global' ? '' : `${place}-`}aiplatform.googleapis.com`
  const url = (host ?? base ?? usual).replace(/(?<!\/)\/+$/, '').replace(/\/v1(?:beta1)?$/, '')
  const credential = googleCredential(params, around)
  if (typeof credential !== 'string') return credential
  const maker = rest.startsWith('claude')
    ? 'anthropic'
    : rest.includes('/')
      ? rest.slice(0, rest.indexOf('/'))
      : 'google'
  const model = maker === 'google' || maker === 'anthropic' ? rest.slice(rest.lastIndexOf('/') + 1) : rest
  const root = `/v1/projects/${project}/locations/${place}`
  const whole = {
    sendAs: model,
    rows: [`vertex_ai/${rest}`, `vertex_ai/${model}`, model],
    providers: rowProviders,
    url: JSON.stringify(url),
    credential,
  }
  if (maker === 'google')
    return { ...whole, vendor: { style: 'google' }, calls: vertexCalls(`${root}/publishers/google/models/{model}`) }
  if (maker === 'anthropic')
    return {
      ...whole,
      vendor: { style: 'anthropic', only: 'chat' },
      calls: claudeCalls(`${root}/publishers/anthropic/models`),
      family: 'messages-vertex',
    }
  const chat = JSON.stringify(`${root}/endpoints/openapi/chat/completions`)
  return { ...whole, vendor: { style: 'openai', only: 'chat' }, calls: `{ chat: ${chat} }` }
}

/** Providers of price table rows for the models of that cloud, by kind. */
export const rowProviders: readonly string[] = [
  'vertex_ai',
  'vertex_ai-language-models',
  'vertex_ai-anthropic_models',
  'vertex_ai-embedding-models',
  'vertex_ai-llama_models',
  'vertex_ai-mistral_models',
  'vertex_ai-deepseek_models',
  'vertex_ai-qwen_models',
  'vertex_ai-openai_models',
]

function googleCredential(
  params: Tracked,
  { variables, secrets, note }: CloudAround,
): string | { readonly why: string } {
  const given = params.take('vertex_credentials')
  const setting = readSetting(
    typeof given === 'object' ? JSON.stringify(given) : (given ?? 'os.environ/GOOGLE_APPLICATION_CREDENTIALS'),
    variables,
  )
  let reference: string
  if (setting.kind === 'unreadable') return { why: 'its vertex_credentials are not text, or name an invalid variable' }
  if (setting.kind === 'variable') {
    // In LiteLLM the value may be a path; a reference within a reference is not possible here.
    const name = setting.name === 'GOOGLE_APPLICATION_CREDENTIALS' ? 'VERTEX_SERVICE_ACCOUNT_KEY' : setting.name
    note(`${name}: set it to the text of the service account's key file, not to its path`)
    reference = `\${${name}:?the text of a service account's key file}`
  } else if (setting.text.trim().startsWith('{')) {
    const kept = keep({ kind: 'literal', text: oneLine(setting.text) }, 'vertex', secrets, '-none')
    if ('why' in kept) return kept
    ;({ reference } = kept)
  } else {
    if (/[{}$]/.test(setting.text)) return { why: 'the path in its vertex_credentials has {, } or $' }
    reference = `\${file:${setting.text}}`
  }
  return `{ sign: google-token, with: { key: ${JSON.stringify(reference)} } }`
}

function oneLine(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json))
  } catch {
    return json
  }
}

function vertexCalls(model: string): string {
  return googleCalls(model, [['generate.embed', JSON.stringify(`${model}:embedContent`)]])
}

/**
 * The paths of one API version, or of a project. Embeddings at Google's own address have two paths, and keep those of
 * the routes.
 */
export function googleCalls(model: string, more: Parameters<typeof writeMap>[0] = []): string {
  const streamed = writeMap([
    ['path', JSON.stringify(`${model}:generateContent`)],
    ['stream', writeMap([['path', JSON.stringify(`${model}:streamGenerateContent`)]])],
  ])
  return writeMap([['generate', streamed], ['generate.count', JSON.stringify(`${model}:countTokens`)], ...more])
}

function claudeCalls(models: string): string {
  const streamed = writeMap([
    ['path', JSON.stringify(`${models}/{model}:rawPredict`)],
    ['stream', writeMap([['path', JSON.stringify(`${models}/{model}:streamRawPredict`)]])],
  ])
  return writeMap([
    ['messages', streamed],
    ['messages.count', JSON.stringify(`${models}/count-tokens:rawPredict`)],
  ])
}

/** A part of an address: a text of the file, or a reference to its variable. */
function partOf(params: Tracked, name: string, { variables }: CloudAround): string | undefined {
  const text = params.takeText(name)
  if (text === undefined) return undefined
  const setting = readSetting(text, variables)
  if (setting.kind === 'variable')
    return `\${${setting.name}:-${setting.name.toLowerCase().replaceAll('_', '-')}-is-not-set}`
  return setting.kind === 'literal' && /^[\w.:/@-]+$/.test(setting.text) ? writeForeignPart(setting.text) : undefined
}

const writeForeignPart = (text: string): string => text.replaceAll('$', '$$$$')

/** A reference to a secret; `otherwise` is the value of an unset variable. */
function keep(
  setting: Setting,
  name: string,
  secrets: SecretBook,
  otherwise: string,
): { readonly reference: string } | { readonly why: string } {
  if (setting.kind === 'unreadable') return { why: `its ${name} is not text, or names an invalid variable` }
  if (setting.kind === 'variable') return { reference: `\${${setting.name}:${otherwise}}` }
  return secrets.keep(setting.text, name)
}

/** The signature of a deployment with the id and the secret of a Microsoft application; undefined if it has none. */
export function microsoftCredential(
  params: Tracked,
  { variables, secrets }: CloudAround,
): string | undefined | { readonly why: string } {
  const tenant = params.has('tenant_id') ? readSetting(params.take('tenant_id'), variables) : undefined
  if (!tenant) return undefined
  const [id, secret] = [params.take('client_id'), params.take('client_secret')].map(one => readSetting(one, variables))
  const name =
    tenant.kind === 'variable' ? `\${${tenant.name}:-tenant-is-not-set}` : tenant.kind === 'literal' ? tenant.text : ''
  const kept = secret && keep(secret, 'client_secret', secrets, '-none')
  if (!/^(?:[\w.-]+|\$\{[\w:-]+\})$/.test(name) || !id || id.kind === 'unreadable' || !kept || 'why' in kept)
    return { why: 'its tenant_id, client_id and client_secret are not all texts' }
  const client = id.kind === 'variable' ? JSON.stringify(`\${${id.name}:-none}`) : writeForeign(id.text)
  const options = writeMap([
    ['token_url', JSON.stringify(`https://login.microsoftonline.com/${name}/oauth2/v2.0/token`)],
    ['client_id', client],
    ['client_secret', JSON.stringify(kept.reference)],
    ['scope', JSON.stringify('https://cognitiveservices.azure.com/.default')],
  ])
  return `{ sign: oauth-client, with: ${options} }`
}
