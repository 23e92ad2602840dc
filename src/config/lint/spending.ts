import { configuredModels, type Model } from '../../domain/index.ts'
import { formatMoney } from '../../util/index.ts'
import type { Rule } from './rule.ts'

/** A price of at least this many times the usual one in the file is expensive. */
const expensiveTimes = 5
/** With fewer prices, no price is the usual one. */
const comparedMin = 3

/** The units of prices that are too small for a price per unit. */
const perMillion: { readonly [label: string]: string | undefined } = {
  input: 'input tokens',
  cached_input: 'cached input tokens',
  output: 'output tokens',
  character: 'characters',
}

function unitOf(label: string): string {
  const counted = perMillion[label]
  return counted === undefined ? `for ${label}` : `per million ${counted}`
}

/** Rules about spending without limits or without records. */
export const spendingRules: readonly Rule[] = [
  {
    id: 'group-without-limits',
    severity: 'warning',
    description: 'One key of the group can use the full capacity of the upstreams and spend without limit.',
    remedy: 'set rpm and tpm for the group',
    *look({ plan }) {
      for (const { name, limits } of plan.groups.values())
        if (limits.rpm === undefined && limits.tpm === undefined && limits.concurrency === undefined)
          yield { path: ['groups', name], message: `the group '${name}' has no limit` }
    },
  },
  {
    id: 'limits-in-shadow',
    severity: 'note',
    description: 'A limit in shadow mode counts requests and refuses none.',
    remedy: 'remove it from `shadow` once its value is right',
    *look({ plan }) {
      const shadows = (limits: { readonly shadow?: readonly string[] }): string => (limits.shadow ?? []).join(', ')
      for (const { name, limits } of plan.groups.values())
        if (shadows(limits))
          yield {
            path: ['groups', name, 'shadow'],
            message: `${shadows(limits)} of the group '${name}' refuses no requests`,
          }
      for (const { name, limits } of configuredModels(plan))
        if (shadows(limits))
          yield {
            path: ['models', name, 'limits', 'shadow'],
            message: `${shadows(limits)} of '${name}' refuses no requests`,
          }
    },
  },
  {
    id: 'ratelimit-missing',
    severity: 'error',
    description: 'Without the plugin ratelimit, no limit in the file is enforced.',
    remedy: 'add ratelimit after auth in the pipeline',
    *look({ plan }) {
      const limited = [...plan.groups.values(), ...configuredModels(plan)].some(
        ({ limits }) => limits.rpm ?? 'tpm' in limits,
      )
      if (limited && !plan.plugins.inUse.some(plugin => plugin.limits))
        yield { path: ['pipeline'], message: 'the file has limits that are not enforced' }
    },
  },
  {
    id: 'expensive-model-without-limits',
    formerly: ['dear-model-without-limits'],
    severity: 'warning',
    description: `A model that costs more than ${expensiveTimes} times the usual price in the file has no limit of its own.`,
    remedy: 'add limits: { rpm: … }, or allow it only for a separate group',
    *look({ plan }) {
      const models = configuredModels(plan).filter(model => model.enabled && !model.free)
      const usual = usualPrices(models)
      for (const model of models) {
        if (model.limits.rpm !== undefined) continue
        const found = [...model.prices].find(
          ([label, { micros }]) => micros > expensiveTimes * (usual.get(label) ?? micros),
        )
        if (!found) continue
        const [label, { micros }] = found
        yield {
          path: ['models', model.name],
          message: `'${model.name}' costs ${formatMoney(micros)} ${plan.currency} ${unitOf(label)} and has no limit`,
        }
      }
    },
  },
  {
    id: 'multiplier-zero',
    severity: 'warning',
    description: 'A factor of 0 makes every model with token prices free.',
    remedy: 'set the intended factor, or price: free at the models',
    *look({ plan }) {
      for (const { name, multiplier } of plan.groups.values())
        if (Number(multiplier) === 0)
          yield { path: ['groups', name, 'multiplier'], message: `tokens are free for the group '${name}'` }
    },
  },
  {
    id: 'counters-apart',
    severity: 'warning',
    description: 'Several gateways on one database with separate counters give every key its limits several times.',
    remedy: 'set counters to redis://HOST:PORT; ignore this if only one gateway uses the database',
    *look({ plan }) {
      if (plan.counters === 'memory:' && plan.storage.startsWith('postgres'))
        yield {
          path: ['counters'],
          message: 'limits are counted in this process, but the storage can be shared by several',
        }
    },
  },
  {
    id: 'storage-forgets',
    severity: 'error',
    description: 'Keys and charges are lost when the process ends.',
    remedy: 'set storage to sqlite:./data/tollgate.db',
    *look({ plan }) {
      if (plan.storage === 'sqlite::memory:') yield { path: ['storage'], message: 'the storage is in memory' }
    },
  },
]

/** The usual price of each unit that enough models have. */
function usualPrices(models: readonly Model[]): ReadonlyMap<string, number> {
  const all = Map.groupBy(
    models.flatMap(({ prices }) => [...prices]),
    ([label]) => label,
  )
  const usual = new Map<string, number>()
  for (const [label, prices] of all) {
    const sorted = prices.map(([, { micros }]) => micros).sort((a, b) => a - b)
    if (sorted.length >= comparedMin) usual.set(label, sorted[Math.floor((sorted.length - 1) / 2)] as number)
  }
  return usual
}
