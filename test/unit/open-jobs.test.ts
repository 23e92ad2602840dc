import t from 'tap'
import { refuseFull } from '../../plugins/ratelimit/open-jobs.ts'
import { someExchange } from '../harness/request-context.ts'

t.test('an unreadable count of open jobs is a 503, whether it fails at once or later', async t => {
  const cause = new Error('disk I/O error')
  for (const [name, openOf] of [
    ['later', () => Promise.reject(cause)],
    [
      'at once',
      () => {
        throw cause
      },
    ],
  ] as const)
    await t.rejects(refuseFull(someExchange(), { openOf }, 'key_1', []), { code: 'storage_unavailable', cause }, name)
})
