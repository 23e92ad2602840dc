import { readFile, rename, writeFile } from 'node:fs/promises'
import { createKey } from '../../src/index.ts'
import { openDatabase } from '../harness/database.ts'
import { prepareSite, type Site } from '../harness/child.ts'
import type { Edits } from '../harness/start.ts'
import { jobEdits } from './job-load.ts'
import type { Bound, Group } from './market-books.ts'
import { multipliers, type Payer, prices } from './market-orders.ts'

/** Zones whose midnights are spread over the day: a battery stays within one day and one month, wherever it runs. */
const zones = ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Tokyo', 'Asia/Kolkata', 'America/Los_Angeles']

/** One of the zones without a midnight in the next hours. */
export function chooseZone(random: () => number, at = new Date()): string {
  const hourIn = (timeZone: string): number =>
    Number(new Intl.DateTimeFormat('en', { timeZone, hour: 'numeric', hourCycle: 'h23' }).format(at))
  const good = zones.filter(zone => hourIn(zone) >= 1 && hourIn(zone) < 19)
  return good[Math.floor(random() * good.length)] ?? 'UTC'
}

/** The approximate cost of a request, and the maximum hold; micro-units. */
const usual = 50_000
const most = 240_000
const amountFor = (requests: number): number => Math.ceil(Math.max(most, requests * usual))

/** Budgets of groups and of their users, for this many requests per key; `free` has none. */
function startGroups(ofKey: number): Map<string, Group> {
  const bound = (keys: number, per: Bound['per']): Bound => ({ amount: amountFor(keys * ofKey), per })
  return new Map<string, Group>([
    ['team', { budget: bound(8, 'day'), userBudget: bound(4, 'month') }],
    ['crew', { budget: bound(8, 'month'), userBudget: bound(4, 'day') }],
    ['whole', { budget: bound(8, 'total') }],
    ['free', {}],
  ])
}

const limits: { readonly [group: string]: string } = {
  team: 'limits_per_user: { rpm: 100000, concurrency: 64 }',
  whole: 'limits_per_user: { rpm: 150, concurrency: 24 }, limits_in_all: { rpm: 400, concurrency: 48 }',
}
/** Requests in any 60 seconds, of the group and of each of its users. */
export const rpm = { group: 'whole', inAll: 400, perUser: 150 } as const

function writeGroups(groups: ReadonlyMap<string, Group>): string {
  const write = (name: string, { amount, per }: Bound): string =>
    `${name}: { amount: "${(amount / 1e6).toFixed(6)}", per: ${per} }`
  return [...groups]
    .map(([name, { budget, userBudget }]) => {
      const multiplier = multipliers[name]
      const parts = [
        ...(budget ? [write('budget', budget)] : []),
        ...(userBudget ? [write('user_budget', userBudget)] : []),
        ...(multiplier === undefined ? [] : [`multiplier: "${multiplier}"`]),
        ...(limits[name] === undefined ? [] : [limits[name]]),
      ]
      return `  ${name}: { ${parts.join(', ')} }`
    })
    .join('\n')
}

/** The groups in the form of the file. */
const written = /groups:\n[^]*? {2}default: \{\}\n/
const isPatient = 'cooldown: { failures: 1000000, for: 1s }'
const unit = (micros: number): string => `"${micros}.00"`

function editsOf(groups: ReadonlyMap<string, Group>, zone: string): Edits {
  return [
    ...jobEdits,
    // A picture larger than its family expects is charged above its hold, and would exceed every level.
    [/\n +largest_output:.*/, ''],
    [/groups:\n {2}default: .*\n {2}partner: .*\n/, `groups:\n${writeGroups(groups)}\n  default: {}\n`],
    ['retention: {', `budgets: { time_zone: ${zone} }\nretention: {`],
    [', limits: { rpm: 300 } }', ' }'],
    ['[auth, ratelimit,', '[auth, { ratelimit: { on_store_failure: refuse } },'],
    // A vendor's refusals to one client must not pause the upstream.
    ...['alpha', 'beta', 'text'].map(
      name => [new RegExp(`\n  ${name}:(?: *#.*)?\n`), `\n  ${name}:\n    ${isPatient}\n`] as const,
    ),
    ['maker: { url', `maker: { ${isPatient}, url`],
    [
      '\nmodels:\n',
      `\nmodels:\n  market-chat: { family: chat, upstream: text, prices: { input: ${unit(prices.input)}, output: ${unit(prices.output)} } }\n`,
    ],
  ]
}

/** The gateways' site, the payers, and how budgets are raised during the run. */
export type Market = {
  readonly site: Site
  /** Variables of its configuration. */
  readonly env: NodeJS.ProcessEnv
  readonly zone: string
  readonly payers: readonly Payer[]
  /** The groups as in the file, now or in a moment. */
  readonly groups: ReadonlyMap<string, Group>
  /** Raises some budgets, so that the work continues at their limits. */
  raise(): Promise<void>
}

export async function openMarket(options: {
  readonly folder: string
  readonly url: string
  readonly storage: string
  readonly counters: string
  /** Requests per key before budgets are raised: slightly too few. */
  readonly ofKey: number
  readonly random: () => number
}): Promise<Market & { close(): Promise<void> }> {
  const { folder, url, counters, ofKey, random } = options
  const zone = chooseZone(random)
  const groups = startGroups(ofKey)
  const upstreams = { alpha: url, beta: url, text: url, maker: url }
  const env = {
    TOLLGATE_STORAGE: options.storage,
    TOLLGATE_COUNTERS: counters,
    ...Object.fromEntries(Object.keys(upstreams).map(name => [`${name.toUpperCase()}_URL`, url])),
  }
  const site = await prepareSite(folder, {
    upstreams,
    edit: editsOf(groups, zone),
    storage: options.storage,
    env,
    isApart: true,
  })
  const storage = await openDatabase({ url: options.storage, role: 'tool', timeZone: zone })

  const payers: Payer[] = []
  const bounded: { readonly id: string; budget: number }[] = []
  const rich: { readonly name: string; budget: number }[] = []
  const paid: string[] = []
  const amountOf = (keys: number): number => amountFor(keys * ofKey)
  const addKey = async (user: string, home: string, group: string | null, bound?: Bound): Promise<void> => {
    const budget = bound ? { budget: bound.amount, budgetPeriod: bound.per } : {}
    const { key, secret } = await createKey(storage, { name: 'market', user, group, ...budget })
    payers.push({ keyId: key.id, secret, user, group: group ?? home })
    if (bound) bounded.push({ id: key.id, budget: bound.amount })
  }
  for (const group of groups.keys())
    for (let i = 0; i < 3; i++) {
      const name = `${group}-${i}`
      await storage.users.create({ name, group, role: 'user', passwordHash: null })
      // One user of each group has a budget of their own, or has a balance.
      if (i === 1 && group !== 'free') {
        const own = { name, budget: amountOf(3) }
        rich.push(own)
        const per = group === 'team' ? 'total' : 'day'
        await storage.users.change(name, { budget: own.budget, budgetPeriod: per }, 'boss')
      }
      if (i === 2 && (group === 'crew' || group === 'free')) {
        paid.push(name)
        await storage.users.topUp(name, amountOf(3), null, 'boss')
      }
      await addKey(name, group, null)
      await addKey(name, group, null, { amount: amountOf(1.2), per: i === 0 ? 'day' : 'total' })
      await addKey(name, group, null, { amount: amountOf(1.5), per: i === 2 ? 'month' : 'day' })
    }
  await addKey('free-0', 'free', 'team')

  return {
    site,
    env,
    zone,
    payers,
    groups,
    async raise() {
      const more = (keys: number): number => Math.floor(random() * 2 * keys * ofKey * usual)
      const raised = (bound: Bound, keys: number): Bound => ({ ...bound, amount: bound.amount + more(keys) })
      for (const [name, { budget, userBudget }] of groups)
        groups.set(name, {
          ...(budget && { budget: raised(budget, 6) }),
          ...(userBudget && { userBudget: raised(userBudget, 2.5) }),
        })
      for (const key of bounded)
        if (random() < 0.5) await storage.keys.change(key.id, { budget: (key.budget += more(1.6)) }, 'boss')
      for (const user of rich) await storage.users.change(user.name, { budget: (user.budget += more(2)) }, 'boss')
      for (const name of paid) await storage.users.topUp(name, 1 + more(2), null, 'boss')
      // Replaced atomically, as a deployment does.
      const text = await readFile(site.config, 'utf8')
      await writeFile(`${site.config}.new`, text.replace(written, `groups:\n${writeGroups(groups)}\n  default: {}\n`))
      await rename(`${site.config}.new`, site.config)
    },
    close: async () => storage.close(),
  }
}
