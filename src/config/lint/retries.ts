import { configuredModels } from '../../domain/index.ts'
import type { Path } from '../tree.ts'
import { findNode } from '../tree.ts'
import type { Rule, Sighting, View } from './rule.ts'

/** Rules about retries. */
export const retryRules: readonly Rule[] = [
  {
    id: 'retry-pays-twice',
    severity: 'warning',
    description: 'The vendor may charge twice or more for one request of a client, who is charged once.',
    remedy: 'remove may_pay_twice, unless a second image or job costs less than a failed request',
    *look(view) {
      for (const { name, retry } of configuredModels(view.plan))
        if (retry?.paysTwice)
          yield { path: whereOf(view, name, 'may_pay_twice'), message: `'${name}' may be bought twice` }
    },
  },
  {
    id: 'retry-without-effect',
    severity: 'warning',
    description: 'Settings of retries that change nothing.',
    remedy: 'add retry_on: [408, 500, 502, 503, 504, timeout, connect], or remove the setting',
    *look(view) {
      for (const { name, retry } of configuredModels(view.plan)) {
        if (retry) continue
        for (const key of ['retry', 'may_pay_twice'] as const)
          if (isWritten(view, ['models', name, key]))
            yield { path: ['models', name, key], message: `'${key}' of '${name}' has no effect without retry_on` }
      }
    },
  },
  {
    id: 'retry-attempts-few',
    severity: 'warning',
    description: 'Upstreams of a model are not tried after failures, because its attempts are used up before.',
    remedy: 'set attempts to at least the number of upstreams, or remove retry_on',
    *look(view) {
      for (const { name, retry, upstreams } of configuredModels(view.plan)) {
        const least = Math.max(2, upstreams.length)
        if (retry && retry.attempts < least) yield attemptsOf(view, name, retry.attempts, upstreams.length)
      }
    },
  },
  {
    id: 'retry-too-late',
    severity: 'warning',
    description: 'No request is sent again after its deadline.',
    remedy: 'lower backoff, or raise timeouts.total of the upstream',
    *look(view) {
      for (const { name, retry, upstreams } of configuredModels(view.plan))
        if (retry && upstreams.every(({ upstream }) => upstream.timeouts.totalMs <= retry.backoffMs))
          yield { path: whereOf(view, name, 'retry'), message: `the wait before '${name}' is tried again is too long` }
    },
  },
]

function attemptsOf(view: View, model: string, attempts: number, upstreams: number): Sighting {
  const path = whereOf(view, model, 'retry')
  return { path, message: `'${model}' has ${upstreams} upstreams and at most ${attempts} attempts` }
}

/** The path of a model's setting, or the model's path if the setting is inherited. */
function whereOf(view: View, model: string, key: string): Path {
  const path = ['models', model, key]
  return isWritten(view, path) ? path : ['models', model]
}

function isWritten({ written }: View, path: Path): boolean {
  return findNode(written, path).whole
}
