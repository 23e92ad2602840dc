/** A LiteLLM file as far as it is read here; whatever else it has is listed as not translated. */
export type LitellmFile = {
  readonly models: readonly LitellmModel[]
  /** By model: those to be asked after it. */
  readonly fallbacks: ReadonlyMap<string, readonly string[]>
  readonly untranslated: readonly string[]
}

/** One deployment of a model; several may have one name. */
export type LitellmModel = {
  readonly name: string
  /** As LiteLLM writes it: `azure/my-deployment`. */
  readonly target: string
  readonly mode: string | undefined
  readonly params: Fields
  /** Prices may stand with the parameters or with the model's facts. */
  readonly facts: Fields
}

export type Fields = { readonly [name: string]: unknown }

const readParams = new Set([
  'model',
  'api_base',
  'base_url',
  'api_key',
  'rpm',
  'tpm',
  'weight',
  'order',
  'extra_headers',
])
const readFacts = new Set(['mode', 'id', 'base_model', 'description', 'metadata'])
/** What LiteLLM calls its prices. */
export const priceName = /_cost_per_|_cost$/

/** Reads the parsed YAML of a LiteLLM `config.yaml`. Undefined when it has no model list. */
export function readLitellm(value: unknown): LitellmFile | undefined {
  const file = fieldsOf(value)
  const list = file['model_list']
  if (!Array.isArray(list)) return undefined
  const untranslated: string[] = []
  const models = list.flatMap((entry, i): LitellmModel[] => {
    const model = readModel(fieldsOf(entry))
    if (!model) untranslated.push(`model_list[${i}]: it needs model_name and litellm_params.model`)
    else untranslated.push(...untranslatedOf(model))
    return model ? [model] : []
  })
  const fallbacks = new Map<string, readonly string[]>()
  for (const section of ['router_settings', 'litellm_settings'])
    for (const one of listOf(fieldsOf(file[section])['fallbacks']))
      for (const [name, others] of Object.entries(fieldsOf(one))) fallbacks.set(name, listOf(others).map(String))
  untranslated.push(...sectionsLeft(file))
  return { models, fallbacks, untranslated }
}

function readModel(entry: Fields): LitellmModel | undefined {
  const params = fieldsOf(entry['litellm_params'])
  const facts = fieldsOf(entry['model_info'])
  const { model_name: name } = entry
  const { model: target } = params
  if (typeof name !== 'string' || typeof target !== 'string') return undefined
  const mode = facts['mode'] ?? params['mode']
  return { name, target, mode: typeof mode === 'string' ? mode : undefined, params, facts }
}

function untranslatedOf({ name, params, facts }: LitellmModel): readonly string[] {
  const more = Object.keys(params).filter(key => !readParams.has(key) && !priceName.test(key) && key !== 'mode')
  const known = Object.keys(facts).filter(key => !readFacts.has(key) && !priceName.test(key))
  return [...more.map(key => `${name}: litellm_params.${key}`), ...known.map(key => `${name}: model_info.${key}`)]
}

function sectionsLeft(file: Fields): readonly string[] {
  return Object.entries(file).flatMap(([section, value]) => {
    if (section === 'model_list') return []
    const keys = Object.keys(fieldsOf(value)).filter(key => key !== 'fallbacks')
    const remedies = keys.map(key =>
      remedy[key] === undefined ? `${section}.${key}` : `${section}.${key}: ${remedy[key]}`,
    )
    return keys.length > 0 || Object.keys(fieldsOf(value)).length > 0 ? remedies : [section]
  })
}

/** What takes the place of settings that many files have. */
const remedy: { readonly [key: string]: string } = {
  master_key: 'make keys with tollgate keys create, and the first administrator at /console',
  database_url: 'set storage',
  redis_host: 'set counters',
  redis_url: 'set counters',
  drop_params: "the families' forward says which fields go on",
  num_retries: 'the next upstream is asked only where nothing can have been charged twice',
  request_timeout: 'set timeouts at the upstreams',
  timeout: 'set timeouts at the upstreams',
  allowed_fails: 'set cooldown at the upstreams',
  cooldown_time: 'set cooldown at the upstreams',
  max_parallel_requests: 'set concurrency in a group',
}

export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
