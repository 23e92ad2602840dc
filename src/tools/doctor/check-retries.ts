import { type CompiledConfig, configuredModels } from '../../domain/index.ts'
import type { Checked } from './checked.ts'

/** Lists the models that retry requests after a failure, one line for each policy; nothing if there are none. */
export function* checkRetries(plan: CompiledConfig): Iterable<Checked> {
  const models = configuredModels(plan)
  const set = models.flatMap(({ name, retry }) => (retry ? [{ name, retry }] : []))
  const policies = Map.groupBy(
    set,
    ({ retry }) => `after ${[...retry.on].join(', ')}, at most ${retry.attempts} requests`,
  )
  for (const [policy, all] of policies)
    yield { name: 'retries', state: 'ok', text: `${all.length} of ${models.length} models ${policy}` }
  const twice = set.filter(({ retry }) => retry.paysTwice).map(({ name }) => name)
  if (twice.length > 0)
    yield {
      name: 'retries',
      state: 'warn',
      text: `the vendor may charge twice for ${twice.slice(0, 10).join(', ')}${twice.length > 10 ? ` and ${twice.length - 10} more` : ''}`,
      remedy: 'remove may_pay_twice, unless that is wanted',
    }
}
