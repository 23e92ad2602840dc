import { createInterface } from 'node:readline/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  createKey,
  formatMoney,
  listOperations,
  listPrices,
  type Model,
  type Operation,
  parseMoney,
  type CompiledConfig,
  type PriceList,
  type SmallRequest,
  type Storage,
} from '../../index.ts'
import { reasonOf } from '../ask-ops.ts'
import { countOf } from '../count-of.ts'
import { Exit, exitCodes, print, say } from '../exit.ts'
import { actor, readStoragePlan, withVendorKeys } from '../with-storage.ts'
import { smallestRequest } from '../smallest-request.ts'
import { formatTable, nameSome } from '../table.ts'
import { safeLine } from '../safe-text.ts'

/** The lifetime of the test key, in case it is not revoked. */
const keyMs = 30 * 60_000
const answerMs = 10 * 60_000
/** A charge settles when the last bytes of its response leave, so soon after they arrive. */
const settleTries = 40
const settlePauseMs = 100
const reasonCharsMax = 300

type TestOptions = { readonly config: string; readonly format: string; readonly url?: string; readonly yes: boolean }

type Trial = {
  readonly model: Model
  readonly path: string
  readonly operation: string
  readonly request: SmallRequest
}

type Result = {
  readonly model: string
  readonly operation: string
  readonly status: number | null
  readonly ms: number
  readonly cost: string | null
  readonly error: string | null
}

/** The models as `GET /v1/models` lists them, with their upstreams. */
export async function listModels(options: { readonly config: string; readonly format: string }): Promise<void> {
  const plan = await readStoragePlan(options.config)
  const offered = (await listPrices(plan)).models.map(model => ({ ...model, upstreams: upstreamsOf(plan, model.name) }))
  if (options.format === 'json') for (const model of offered) print(JSON.stringify(model))
  else {
    const rows = offered.map(({ name, family, operations, upstreams, ...priced }) => [
      name,
      family,
      nameSome(operations),
      upstreams.join(' '),
      sayPrice(priced),
    ])
    const heads = ['MODEL', 'FAMILY', 'OPERATIONS', 'UPSTREAMS', `PRICE (${plan.currency})`]
    print(formatTable(heads, rows).split('\n').map(safeLine).join('\n'))
  }
}

function upstreamsOf({ models }: CompiledConfig, name: string): readonly string[] {
  const upstreams = (models.get(name)?.upstreams ?? []).map(({ upstream }) => upstream)
  return upstreams.map(({ name: upstream, url }) =>
    url.startsWith('simulator:') ? `${upstream} (simulated)` : upstream,
  )
}

/** The prices of a model in one line: `prices list` has each with its place. */
function sayPrice({ free, images, units }: Pick<PriceList['models'][number], 'free' | 'images' | 'units'>): string {
  if (free) return 'free'
  const tiers = (images?.tiers ?? []).map(({ tier, price }) => `${tier} ${price}`)
  return [...tiers, ...units.map(({ unit, price }) => `${unit} ${price}`)].join(', ')
}

/** Sends one small request for each model through the running gateway. Exit 1 if one fails, 4 if no gateway answers. */
export async function testModels(names: readonly string[], options: TestOptions): Promise<void> {
  await withVendorKeys(options.config, async (storage, plan) => {
    const operations = await listOperations()
    const trials = (await chooseModels(plan, names)).flatMap(model => planTrial(plan, model, operations))
    const url = options.url ?? urlOf(plan)
    await needGateway(url)
    const priced = trials.filter(({ model }) => costs(model)).map(({ model }) => model.name)
    if (priced.length > 0 && !options.yes) await needConsent(priced)
    const { key, secret } = await createKey(
      storage,
      { name: 'models test', user: 'local', expiresAt: Date.now() + keyMs },
      actor,
    )
    let failed = 0
    const spent: (string | null)[] = []
    try {
      await needSameStorage(url, secret)
      for (const trial of trials) {
        const result = await send(trial, url, secret)
        if (result.error !== null) failed++
        spent.push(result.cost)
        print(options.format === 'json' ? JSON.stringify(result) : formatLine(result))
      }
    } finally {
      await forget(storage, key.id)
    }
    reportSpent(spent)
    if (failed > 0) throw new Exit(exitCodes.failure, `${failed} of ${trials.length} failed`)
  })
}

/** @throws Exit 1 if the gateway does not know a key that was just created */
async function needSameStorage(url: string, secret: string): Promise<void> {
  const { status } = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${secret}` } })
  if (status !== 401) return
  const remedy = 'set the storage of the gateway for this command too, or another --url'
  throw new Exit(exitCodes.failure, `the gateway at ${url} does not know the keys of this storage: ${remedy}`)
}

/** Prints the total cost of the charges. */
function reportSpent(costs: readonly (string | null)[]): void {
  const sums = new Map<string, number>()
  for (const cost of costs) {
    const [amount = '', currency = ''] = cost?.split(' ') ?? []
    if (cost !== null) sums.set(currency, (sums.get(currency) ?? 0) + (parseMoney(amount) ?? 0))
  }
  const spent = [...sums].map(([currency, micros]) => `${formatMoney(micros)} ${currency}`)
  const free = costs.filter(cost => cost === null).length
  const rest = free === 0 ? '' : `; ${free} of ${costs.length} not charged`
  say(`spent ${spent.join(' and ') || 'nothing'} on ${countOf(costs.length, 'request')}${rest}`)
}

/** @throws Exit 2 if a model is not offered */
async function chooseModels(
  plan: CompiledConfig,
  names: readonly string[],
): Promise<readonly (Model & { operations: readonly string[] })[]> {
  const offered = (await listPrices(plan)).models
  // A name that only a wildcard serves is not listed.
  const open = names.flatMap(name => {
    const { enabled, wildcard } = plan.models.get(name) ?? {}
    const like = enabled ? offered.find(model => model.name === wildcard) : undefined
    return like ? [{ ...like, name }] : []
  })
  const known = [...offered, ...open].filter(({ name }, i, all) => all.findIndex(one => one.name === name) === i)
  const unknown = names.filter(name => !known.some(model => model.name === name))
  if (unknown.length > 0)
    throw new Exit(
      exitCodes.usage,
      `${unknown.join(', ')}: unknown model; available: ${offered.map(({ name }) => name).join(', ')}`,
    )
  return known.flatMap(({ name, operations }) => {
    const model = plan.models.get(name)
    return model && (names.length === 0 || names.includes(name)) ? [{ ...model, operations }] : []
  })
}

function planTrial(
  plan: CompiledConfig,
  model: Model & { operations: readonly string[] },
  operations: readonly Operation[],
): readonly Trial[] {
  const small = smallestRequest(operations, model.name, model.operations)
  const route = plan.routes.find(one => one.operation === small?.operation && one.stream !== 'always')
  if (!small || !route) {
    say(`${model.name}: no test request exists for ${model.operations.join(', ') || 'it'}; skipped`)
    return []
  }
  const params: { readonly [name: string]: string } = { ...small.request.params, model: model.name }
  const path = route.path.replaceAll(/\{(\w+)\}/g, (whole, name: string) => encodeURIComponent(params[name] ?? whole))
  return [{ model, ...small, path }]
}

function urlOf({ server: { listen, tls } }: CompiledConfig): string {
  const host = listen.host === '0.0.0.0' || listen.host === '::' ? '127.0.0.1' : listen.host
  return `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${listen.port}`
}

/** @throws Exit 4 if no gateway answers */
async function needGateway(url: string): Promise<void> {
  await fetch(`${url}/v1/models`, { signal: AbortSignal.timeout(answerMs) }).catch((error: unknown) => {
    throw new Exit(
      exitCodes.noGateway,
      `no gateway answers at ${url} (${reasonOf(error)}). Is it running? Set its address with --url.`,
    )
  })
}

/** Whether an external vendor is paid for a request to the model. */
function costs(model: Model): boolean {
  return !model.free && model.upstreams.some(({ upstream }) => !upstream.url.startsWith('simulator:'))
}

/** @throws Exit 2 without a confirmation */
async function needConsent(names: readonly string[]): Promise<void> {
  const text = `This sends one paid request to each of ${names.join(', ')}.`
  if (!process.stdin.isTTY) throw new Exit(exitCodes.usage, `${text} Use --yes to confirm.`)
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const answer = await lines.question(`${text} Continue? [y/N] `)
    if (!/^y(?:es)?$/i.test(answer.trim())) throw new Exit(exitCodes.usage, 'nothing was sent')
  } finally {
    lines.close()
  }
}

async function send({ model, operation, path, request }: Trial, url: string, secret: string): Promise<Result> {
  const isJson = 'json' in request
  const authorization = `Bearer ${secret}`
  const startedAt = performance.now()
  const took = (): number => Math.round(performance.now() - startedAt)
  const none = { model: model.name, operation, status: null, cost: null }
  try {
    const response = await fetch(url + path, {
      method: 'POST',
      headers: isJson ? { authorization, 'content-type': 'application/json' } : { authorization },
      body: isJson ? JSON.stringify(request.json) : request.form,
      signal: AbortSignal.timeout(answerMs),
    })
    const text = await response.text()
    const ms = took()
    const error = response.ok ? null : text.replaceAll(/\s+/g, ' ').slice(0, reasonCharsMax)
    const cost = await askCost(url, authorization, response.headers.get('x-request-id') ?? '')
    return { ...none, status: response.status, ms, cost, error }
  } catch (error) {
    return { ...none, ms: took(), error: reasonOf(error) }
  }
}

/** The charge for a request; null if there was none. */
async function askCost(url: string, authorization: string, id: string): Promise<string | null> {
  for (let i = 0; i < settleTries; i++) {
    const response = await fetch(`${url}/v1/charges/${encodeURIComponent(id)}`, { headers: { authorization } })
    if (!response.ok) return null
    const { state, amount, currency } = (await response.json()) as { state: string; amount: string; currency: string }
    if (state !== 'reserved') return `${amount} ${currency}`
    await sleep(settlePauseMs)
  }
  return null
}

async function forget(storage: Storage, id: string): Promise<void> {
  await storage.keys.revoke(id, actor)
}

function formatLine({ model, operation, status, ms, cost, error }: Result): string {
  const outcome = error === null ? 'ok  ' : 'fail'
  return safeLine(
    `${outcome}  ${model}  ${operation}  ${status ?? '-'}  ${ms} ms  ${cost ?? 'not charged'}${error === null ? '' : `  ${error}`}`,
  )
}
