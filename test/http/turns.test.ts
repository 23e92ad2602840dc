import t from 'tap'
import { Failure } from '../../src/domain/index.ts'
import { definePlugin } from '../../src/plugin-api/index.ts'
import { fill, around } from '../growth/bodies.ts'
import { quietLog, start } from '../harness/start.ts'
import { caseName } from '../harness/case-name.ts'

/** A plugin that blocks the event loop in a configurable hook. */
const slow = definePlugin({
  name: 'slow',
  create: () => ({
    onTarget(context) {
      if (context.head.headers['x-think'] === undefined) return
      const until = performance.now() + 60
      while (performance.now() < until);
      if (context.head.headers['x-think'] === 'refuse')
        throw new Failure('no', { status: 400, type: 'x', text: 'no' }, 'no')
    },
  }),
})

t.test('[6.1] a request that blocks the event loop is counted, and logged by its id', async t => {
  const warned: { readonly request?: string; readonly step?: string; readonly ms?: number }[] = []
  const log = {
    ...quietLog(),
    warn: (facts: object, text: string) => void (text.includes('blocked the event loop') && warned.push(facts)),
  }
  const { post, get, opsUrl, settled } = await start(t, {
    plugins: [slow],
    log,
    edit: [['pipeline: [auth,', 'pipeline: [auth, slow,']],
  })
  await get('/v1/models')
  for (const think of ['x', 'refuse']) {
    const answer = await post(
      '/v1/images/generations',
      { model: 'alpha-image-2', prompt: 'a boat' },
      { 'x-think': think },
    )
    await answer.arrayBuffer()
    await settled()
    await new Promise(resolve => setImmediate(resolve))
    const mine = warned.filter(({ request }) => request === answer.headers.get('x-request-id'))
    t.match(mine, [{ ms: Number }], think)
    t.ok((mine[0]?.ms ?? 0) >= 60, caseName({ think }))
  }
  const metrics = await (await fetch(`${opsUrl}/metrics`)).text()
  const counted = [...metrics.matchAll(/^tollgate_long_turns_total\{step="\w+"\} (\d+)/gm)].map(match =>
    Number(match[1]),
  )
  t.ok(counted.reduce((sum, one) => sum + one, 0) >= 2, 'each is counted')
})

t.test('[6.1] a field of the wrong kind that is megabytes long is refused by its length', async t => {
  const { post, upstream } = await start(t)
  for (const field of ['size', 'n', 'model']) {
    const body = around(
      `{"prompt":"a boat",${field === 'model' ? '' : '"model":"alpha-image-2",'}"${field}":"`,
      fill(5_000_000, '\\n'),
      '"}',
    )
    const answer = await post('/v1/images/generations', body)
    t.equal(answer.status, 400, field)
    t.match(await answer.json(), { error: { code: 'field_too_long', param: field } }, field)
  }
  t.equal(upstream.received.length, 0)
})
