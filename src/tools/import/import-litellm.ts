import { familyOf, familyTexts } from './litellm-families.ts'
import { type Cost, costOf, pricesLeft } from './litellm-prices.ts'
import { Upstreams } from './litellm-upstreams.ts'
import { vendors } from './litellm-vendors.ts'
import { type LitellmFile, type LitellmModel, readLitellm } from './read-litellm.ts'
import { writeMap, writeScalar } from './yaml-words.ts'

export type Imported = {
  /** A `gateway.yaml`. */
  readonly text: string
  /** What was not translated, or has to be looked at: one sentence each. */
  readonly notes: readonly string[]
  /** How many models there are, and how many of them have their prices and so are active. */
  readonly models: { readonly all: number; readonly active: number }
}

type Deployment = {
  readonly upstream: string
  readonly sendAs: string
  readonly weight: string | undefined
  readonly priority: number
}

type Model = {
  readonly name: string
  readonly family: string
  readonly cost: Cost
  readonly deployments: readonly Deployment[]
  readonly rpm: number | undefined
}

/** Translates the parsed YAML of a LiteLLM `config.yaml`. Undefined when it is none. */
export function importLitellm(value: unknown): Imported | undefined {
  const file = readLitellm(value)
  if (!file) return undefined
  const notes: string[] = []
  const upstreams = new Upstreams(notes)
  const models = withFallbacks(readModels(file, upstreams, notes), file, notes)
  for (const left of file.untranslated) notes.push(`not translated: ${left}`)
  const active = models.filter(model => model.cost.kind !== 'unknown').length
  return { text: write(models, upstreams, notes), notes, models: { all: models.length, active } }
}

function readModels(file: LitellmFile, upstreams: Upstreams, notes: string[]): ReadonlyMap<string, Model> {
  const models = new Map<string, Model>()
  for (const entry of file.models) {
    const [prefix = '', ...rest] = entry.target.includes('/') ? entry.target.split('/') : ['openai', entry.target]
    const vendor = Object.hasOwn(vendors, prefix) ? vendors[prefix] : undefined
    const why = (text: string): void =>
      void notes.push(`${entry.name}: ${text}; the deployment ${entry.target} is left out`)
    if (entry.name.includes('*') || entry.target.includes('*'))
      why('a pattern is no model: write each on a line of its own')
    else if (!vendor) why(`'${prefix}' is not an upstream that can be asked by an address and a key`)
    else {
      const family = familyOf(entry.mode, vendor.style)
      const upstream = upstreams.nameOf(prefix, vendor, entry.params)
      const known = models.get(entry.name)
      if (family === undefined) why(`mode ${entry.mode ?? 'chat'} is not served in the style of ${prefix}`)
      else if (upstream === undefined) why('it has no api_base that can be asked')
      else if (known && known.family !== family)
        why(`it is of the family ${family}, and those before it are of ${known.family}`)
      else
        models.set(entry.name, merge(known, entry, family, { upstream, ...deploymentOf(entry, rest.join('/')) }, notes))
    }
  }
  return models
}

function deploymentOf({ params }: LitellmModel, sendAs: string): Omit<Deployment, 'upstream'> {
  const weight = Number(params['weight'] ?? 1)
  const order = Number(params['order'] ?? 1)
  return {
    sendAs,
    weight: weight > 0 && weight !== 1 ? String(weight) : undefined,
    priority: Number.isSafeInteger(order) && order > 0 ? order : 1,
  }
}

/** One more deployment of a model: limits add up, and the first price holds. */
function merge(known: Model | undefined, entry: LitellmModel, family: string, own: Deployment, notes: string[]): Model {
  const { name, params } = entry
  const cost = costOf(entry, family)
  const rpm = Number.isSafeInteger(params['rpm']) && Number(params['rpm']) > 0 ? Number(params['rpm']) : undefined
  if (params['tpm'] !== undefined)
    notes.push(`${name}: tpm of a deployment is not translated; tokens are limited by group and key`)
  for (const field of pricesLeft(entry, family))
    notes.push(`${name}: ${field} is not translated, and not charged: no price here says the same`)
  if (!known) {
    if (cost.kind === 'unknown') notes.push(`${name}: ${cost.why}, so its line is a comment: add its prices`)
    if (family === 'messages') notes.push(`${name}: callers ask for it at /v1/messages; bodies are not translated`)
    if (family === 'generative')
      notes.push(`${name}: callers ask for it at /v1beta/models/…; bodies are not translated`)
    return { name, family, cost, deployments: [own], rpm }
  }
  if (writeCost(cost) !== writeCost(known.cost))
    notes.push(`${name}: its deployments cost differently; all of them are charged as the first`)
  const total = known.rpm === undefined || rpm === undefined ? undefined : known.rpm + rpm
  return { ...known, deployments: [...known.deployments, own], rpm: total }
}

/** Models that are asked when another does not answer become its further upstreams. */
function withFallbacks(models: ReadonlyMap<string, Model>, file: LitellmFile, notes: string[]): readonly Model[] {
  return [...models.values()].map(model => {
    const deployments = [...model.deployments]
    for (const name of file.fallbacks.get(model.name) ?? []) {
      const other = models.get(name)
      if (!other || other.family !== model.family) {
        notes.push(
          `${model.name}: the fallback ${name} is not translated, as it is not a model of the family ${model.family}`,
        )
        continue
      }
      const priority = Math.max(...deployments.map(one => one.priority)) + 1
      deployments.push(...other.deployments.map(one => ({ ...one, priority })))
      notes.push(`${model.name}: what its fallback ${name} answers is charged as ${model.name}`)
    }
    return { ...model, deployments }
  })
}

function writeModel({ name, family, cost, deployments, rpm }: Model): string {
  const [only, ...more] = deployments
  const single = more.length === 0 ? only : undefined
  const sent = (sendAs: string): string | undefined => (sendAs === name ? undefined : writeScalar(sendAs))
  const several = deployments.map(one =>
    writeMap([
      ['upstream', writeScalar(one.upstream)],
      ['weight', one.weight],
      ['priority', one.priority === 1 ? undefined : String(one.priority)],
      ['send_as', sent(one.sendAs)],
    ]),
  )
  const fields = writeMap([
    ['family', family],
    ['upstream', single && writeScalar(single.upstream)],
    ['send_as', single && sent(single.sendAs)],
    ['upstreams', single ? undefined : `[${several.join(', ')}]`],
    ['prices', cost.kind === 'prices' ? writeCost(cost) : undefined],
    ['price', cost.kind === 'free' ? 'free' : undefined],
    ['limits', rpm === undefined ? undefined : writeMap([['rpm', String(rpm)]])],
  ])
  return `  ${cost.kind === 'unknown' ? '# ' : ''}${writeScalar(name)}: ${fields}`
}

function writeCost(cost: Cost): string {
  if (cost.kind !== 'prices') return cost.kind
  return writeMap([...cost.prices].map(([label, price]) => [label, JSON.stringify(price)] as const))
}

function write(models: readonly Model[], upstreams: Upstreams, notes: readonly string[]): string {
  const families = Object.entries(familyTexts).filter(([name]) => models.some(model => model.family === name))
  const priced = models.some(model => model.cost.kind !== 'unknown')
  const left =
    notes.length === 0 ? [] : ['#', '# To be looked at:', ...notes.map(note => `# - ${note.replaceAll(/\s+/g, ' ')}`)]
  const lines = [
    '# Imported from a LiteLLM config.yaml. tollgate check says whether it is valid, tollgate explain what a request would do.',
    ...left,
    'version: 1',
    'currency: USD',
    '',
    'server:',
    '  listen: "${TOLLGATE_LISTEN:-127.0.0.1:8080}"',
    '  ops: "${TOLLGATE_OPS:-127.0.0.1:9464}"',
    '',
    'storage: "${TOLLGATE_STORAGE:-sqlite:./data/tollgate.db}"',
    'counters: "${TOLLGATE_COUNTERS:-memory:}"',
    '',
    '# The file this comes from has no groups: give this one rpm and tpm.',
    'groups:',
    '  default: {}',
    '',
    upstreams.lines().length > 0 ? 'upstreams:' : 'upstreams: {}',
    ...upstreams.lines(),
    '',
    'pipeline: [auth, ratelimit, multipart-rewrite, size-normalize, image-tier-billing, token-usage]',
    '',
    families.length > 0 ? 'families:' : 'families: {}',
    ...families.map(([name, { family }]) => `  ${name}:\n    ${family}`),
    '',
    priced ? 'models:' : 'models: {}',
    ...models.map(model => (priced ? writeModel(model) : writeModel(model).trimStart())),
    '',
    'routes:',
    ...families.flatMap(([, { routes }]) => routes.map(route => `  - ${route}`)),
    '  - { match: GET /v1/models, operation: models.list, dialect: by-caller, serve: models }',
    '  - { match: "GET /v1/models/{id}", operation: models.get, dialect: by-caller, serve: model }',
    '  - { match: "GET /v1/charges/{id}", operation: charges.get, dialect: openai, serve: charge }',
  ]
  return `${lines.join('\n')}\n`
}
