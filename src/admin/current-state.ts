import {
  type Budget,
  type BudgetPeriod,
  budgetOfUser,
  budgetUsed,
  joinPeriod,
  type LevelKind,
  type LevelSums,
  type ResetDay,
} from '../domain/index.ts'
import { formatMoney, type Micros, parseMoney } from '../util/index.ts'
import type { Alert } from './alerts.ts'
import type { AdminParts } from './parts.ts'

/** The current state of a budget. */
export type BudgetNow = {
  /** The possible budgets: a user whose keys are in several groups may have several. */
  readonly budgets: readonly Budget[]
  readonly spent: LevelSums['spent']
  /** The name of a key, because events have only its id. */
  readonly called?: string
}

/**
 * The current state, which decides whether the alerts of events still apply. No event reports that a budget was raised,
 * or that the file has a new key.
 */
export type Now = {
  /** The keys of an upstream by name; undefined if there is no such upstream. */
  keysOf(upstream: string): ReadonlyMap<string, { readonly state: string; readonly isAvailable: boolean }> | undefined
  /** Undefined if there is no such budget. */
  budgetOf(level: string, name: string): BudgetNow | undefined
}

/** The alerts of events that still apply. An alert about a key gets the key's name. */
export function stillOpen(alerts: readonly Alert[], now: Now): readonly Alert[] {
  return alerts.flatMap((alert): readonly Alert[] => {
    const { kind, data } = alert
    const of = (name: string): string => textOf(data[name])
    switch (kind) {
      case 'upstream.key_suspended':
        return now.keysOf(of('upstream'))?.get(of('key'))?.state === 'suspended' ? [alert] : []
      case 'upstream.exhausted': {
        const keys = [...(now.keysOf(of('upstream'))?.values() ?? [])]
        return keys.length > 0 && keys.every(({ isAvailable }) => !isAvailable) ? [alert] : []
      }
      case 'budget.threshold':
      case 'budget.exhausted': {
        const found = now.budgetOf(of('level'), of('name'))
        const own = found && budgetOf(alert, found)
        if (!own || !isSpent(alert, own, found.spent[own.per] ?? 0)) return []
        return [{ ...alert, data: { ...data, ...stateNow(own, found) } }]
      }
      default:
        return [alert]
    }
  })
}

/** The budget of an event, unless it has changed since. */
function budgetOf({ data }: Alert, { budgets }: BudgetNow): Budget | undefined {
  const amount = parseMoney(textOf(data['amount']))
  return budgets.find(one => one.amount === amount && one.per === periodOf(data))
}

/** The current spending, which may exceed that of the event, because the event's percentage is the threshold. */
function stateNow({ amount, per }: Budget, { spent, called }: BudgetNow) {
  const own = spent[per] ?? 0
  return {
    ...(called !== undefined && { called }),
    spent_now: formatMoney(own),
    percent_now: amount === 0 ? 100 : Math.floor((own * 100) / amount),
  }
}

/** Whether a budget is still spent to this extent: a refund may have reduced the spending. */
function isSpent({ kind, data }: Alert, own: Budget, spent: Micros): boolean {
  const spentThen = parseMoney(textOf(data['spent'])) ?? 0
  const percent = data['percent']
  const least =
    kind === 'budget.threshold' && typeof percent === 'number'
      ? (own.amount / 100) * percent
      : Math.min(own.amount, spentThen)
  return spent >= least
}

/** Reads only the state that these alerts are compared with. */
export async function readCurrentState(parts: AdminParts, alerts: readonly Alert[]): Promise<Now> {
  const plan = parts.plan()
  // Includes results that other processes found a moment ago.
  if (alerts.some(({ kind }) => kind.startsWith('upstream.'))) await parts.upstreams.learn()
  const budgets = await readBudgets(parts, alerts)
  return {
    keysOf(name) {
      const upstream = plan.upstreams.get(name)
      return upstream && new Map(parts.upstreams.report(upstream).map(one => [one.name, one]))
    },
    budgetOf: (level, name) => budgets.get(`${level} ${name}`),
  }
}

const levelKinds: readonly string[] = ['user', 'group', 'balance'] satisfies readonly LevelKind[]

async function readBudgets(parts: AdminParts, alerts: readonly Alert[]): Promise<ReadonlyMap<string, BudgetNow>> {
  const { storage, clock } = parts
  const plan = parts.plan()
  const named = alerts
    .filter(({ kind }) => kind.startsWith('budget.'))
    .map(({ data }) => ({ level: textOf(data['level']), name: textOf(data['name']), per: periodOf(data) }))
  const levels = named.flatMap(({ level, name }) =>
    levelKinds.includes(level) ? [{ kind: level as LevelKind, name }] : [],
  )
  const sums =
    levels.length === 0
      ? []
      : await storage.books.levels(
          levels,
          named.flatMap(({ per }) => per ?? []),
        )
  const found = await Promise.all(
    named.map(async ({ level, name }): Promise<BudgetNow | undefined> => {
      const spent = sums.find(one => one.kind === level && one.name === name)?.spent ?? { day: 0, month: 0, total: 0 }
      if (level === 'group') {
        const budget = plan.groups.get(name)?.budget
        return budget && { budgets: [budget], spent }
      }
      if (level === 'key') {
        const key = await storage.keys.find(name)
        if (!key || key.status === 'revoked' || key.budget === null) return undefined
        const used: Micros = budgetUsed(key, clock.now(), plan.timeZone)
        return {
          budgets: [{ amount: key.budget, per: key.budgetPeriod, ...(key.budgetSoft && { soft: true as const }) }],
          spent: { day: used, month: used, total: used, [key.budgetPeriod]: used },
          called: key.name,
        }
      }
      const user = await storage.users.find(name)
      if (!user) return undefined
      if (level === 'balance')
        return user.balance === null ? undefined : { budgets: [{ amount: user.balance, per: 'total' }], spent }
      const budgets = [undefined, ...plan.groups.values()].flatMap(group => budgetOfUser(user, group) ?? [])
      return { budgets, spent }
    }),
  )
  return new Map(
    named.flatMap(({ level, name }, i): [string, BudgetNow][] => {
      const one = found[i]
      return one ? [[`${level} ${name}`, one]] : []
    }),
  )
}

/** The period in an event. */
function periodOf(data: Alert['data']): BudgetPeriod | undefined {
  return joinPeriod(textOf(data['per']), (data['resets_on'] ?? null) as ResetDay | null)
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
