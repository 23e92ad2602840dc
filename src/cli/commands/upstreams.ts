import {
  decisionOn,
  formatMoney,
  keysOf,
  type KeyTrial,
  listUpstreams as readUpstreams,
  parseDuration,
  type CompiledConfig,
  tryVendorKeys,
  type UpstreamShown,
  type VendorKey,
} from '../../index.ts'
import { Exit, exitCodes, print, say } from '../exit.ts'
import { actor, readPlan, withVendorKeys } from '../with-storage.ts'
import { formatTable } from '../table.ts'
import { reasonUnused } from '../reason-unused.ts'
import { safeLine } from '../safe-text.ts'

type Options = { readonly config: string; readonly format: string }

const reasonCharsMax = 500

/** Every upstream, with the state of each of its keys as stored. */
export async function listUpstreams(options: Options): Promise<void> {
  await withVendorKeys(options.config, async (storage, plan) => {
    const all = await readUpstreams(plan, storage.vendorKeys)
    if (options.format === 'json') for (const one of all) print(JSON.stringify(one))
    else print(formatUpstreams(all, plan.currency))
  })
}

function formatUpstreams(all: readonly UpstreamShown[], currency: string): string {
  const rows = all.flatMap(({ name, keys, simulated, models }) => {
    const served = String(models.length)
    if (keys.length === 0) return [[name, '-', simulated ? 'simulated' : 'no credential', '', '', served, '']]
    return keys.map(key => [
      name,
      `${key.name} ${key.hint}`.trim(),
      key.state === 'active' && !key.asked ? 'not used' : key.state,
      reasonUnused(key),
      String(key.weight),
      key.serves?.join(', ') ?? served,
      key.budget ? `${key.budget.spent} of ${key.budget.amount} (${key.budget.per})` : '',
    ])
  })
  const table = formatTable(['UPSTREAM', 'KEY', 'STATE', 'WHY', 'WEIGHT', 'MODELS', `SPENT (${currency})`], rows)
  return table.split('\n').map(safeLine).join('\n')
}

/** Suspends a key in every gateway on the storage. */
export async function suspendKey(
  upstream: string,
  name: string,
  options: { readonly config: string; readonly reason?: string; readonly for?: string },
): Promise<void> {
  const reason = (options.reason ?? '').trim()
  if (reason === '' || reason.length > reasonCharsMax || /\p{Cc}/u.test(reason))
    throw new Exit(exitCodes.usage, `--reason: expected one line of at most ${reasonCharsMax} characters`)
  const forMs = options.for === undefined ? undefined : parseDuration(options.for)
  if (options.for !== undefined && (forMs === undefined || forMs === 0))
    throw new Exit(exitCodes.usage, `--for ${options.for}: expected a duration such as 2h or 30m`)
  await withVendorKeys(options.config, async (storage, plan) => {
    const key = findKey(plan, upstream, name)
    const until = forMs === undefined ? null : Date.now() + forMs
    await storage.vendorKeys.decide(decisionOn(plan, key, { state: 'suspended', until, note: reason }), actor)
    const end =
      until === null ? `until it is resumed (tollgate upstreams resume ${upstream} ${name})` : `until ${iso(until)}`
    say(`Suspended key ${name} of ${upstream} ${end}. Running gateways apply this within five seconds.`)
    const left = (await readUpstreams(plan, storage.vendorKeys)).find(one => one.name === upstream)?.keys_asked
    if (left === 0) say(`${upstream} has no usable key left: requests without another upstream are refused.`)
  })
}

export async function resumeKey(upstream: string, name: string, options: { readonly config: string }): Promise<void> {
  await withVendorKeys(options.config, async (storage, plan) => {
    const key = findKey(plan, upstream, name)
    const word = { state: 'active', until: null, note: null } as const
    const isChanged = await storage.vendorKeys.decide(decisionOn(plan, key, word), actor)
    if (isChanged) say(`Resumed key ${name} of ${upstream}. Running gateways apply this within five seconds.`)
    else say(`Key ${name} of ${upstream} is active already.`)
  })
}

/** Resumes refused keys that pass the test, like the gateway's own probe. */
async function bringBack(config: string, keys: readonly VendorKey[]): Promise<void> {
  if (keys.length === 0) return
  await withVendorKeys(config, async (storage, plan) => {
    const statuses = await storage.vendorKeys.list()
    for (const key of keys) {
      const { name, upstream } = key
      const known = statuses.find(one => one.upstream === upstream.name && one.key === name && one.model === '')
      if (known?.state !== 'suspended' || known.reason !== 'invalid' || known.hash !== key.hash) continue
      const word = { state: 'active', until: null, note: 'a free test request succeeded' } as const
      await storage.vendorKeys.decide(decisionOn(plan, key, word), actor)
      say(`Resumed key ${name} of ${upstream.name}.`)
    }
  })
}

/** Tests keys with free requests. Exit 1 if a key is refused. */
export async function testKeys(
  upstream: string | undefined,
  name: string | undefined,
  options: Options,
): Promise<void> {
  const plan = await readPlan(options.config)
  const keys = chooseKeys(plan, upstream, name)
  let bad = 0
  const good: VendorKey[] = []
  for await (const trial of tryVendorKeys(plan, keys)) {
    if (trial.result === 'bad') bad++
    if (trial.result === 'good') good.push(findKey(plan, trial.upstream, trial.key))
    print(options.format === 'json' ? JSON.stringify(trial) : formatTrial(trial))
  }
  await bringBack(options.config, good)
  say(
    `${keys.length === 1 ? 'Sent 1 free test request' : `Sent ${keys.length} free test requests`}: ${formatMoney(0)} ${plan.currency}.`,
  )
  if (bad > 0) throw new Exit(exitCodes.failure, `${bad} of ${keys.length} keys were refused`)
}

function formatTrial({ upstream, key, result, answer, path, ms }: KeyTrial): string {
  const words = { good: 'valid  ', bad: 'REFUSED', unclear: 'unclear' }[result]
  const why = result === 'unclear' ? ` (${path} does not exist, so the key is not verified: set probe.path)` : ''
  return safeLine(`${words}  ${upstream}  ${key}  GET ${path}  ${answer}  ${ms} ms${why}`)
}

/** @throws Exit 2 */
function chooseKeys(
  plan: CompiledConfig,
  upstream: string | undefined,
  name: string | undefined,
): readonly VendorKey[] {
  if (upstream !== undefined && name !== undefined) return [findKey(plan, upstream, name)]
  const keys = keysOf(plan).filter(key => upstream === undefined || key.upstream.name === upstream)
  if (keys.length > 0) return keys
  throw new Exit(
    exitCodes.usage,
    upstream === undefined ? `no upstream of ${plan.file} has keys` : noKeys(plan, upstream),
  )
}

/** @throws Exit 2 */
function findKey(plan: CompiledConfig, upstream: string, name: string): VendorKey {
  const keys = plan.upstreams.get(upstream)?.keys ?? []
  const found = keys.find(key => key.name === name)
  if (found) return found
  if (keys.length === 0) throw new Exit(exitCodes.usage, noKeys(plan, upstream))
  throw new Exit(exitCodes.usage, `${upstream} has no key '${name}'; it has ${keys.map(key => key.name).join(', ')}`)
}

function noKeys({ upstreams, file }: CompiledConfig, upstream: string): string {
  if (upstreams.has(upstream)) return `${upstream} has no credential in ${file}, so there is no key to suspend or test`
  return `there is no upstream '${upstream}'; there are ${[...upstreams.keys()].join(', ')}`
}

function iso(at: number): string {
  return new Date(at).toISOString()
}
