import t from 'tap'
import { runCli } from '../harness/cli.ts'
import { start } from '../harness/start.ts'

t.test('lists stored objects and ends one while the gateway is running', async t => {
  const started = await start(t, { simulated: true })
  const { openai, keyId } = started
  const run = (...args: readonly string[]) => runCli(started, ...args)
  const made = await openai.responses.create({ model: 'sim-chat', input: 'hi' })
  await openai.conversations.create({})
  const listed = await run('objects', 'list', '--format', 'json')
  t.match(listed, { code: 0 })
  t.match(
    listed.stdout
      .trim()
      .split('\n')
      .map(line => JSON.parse(line) as object),
    [
      { kind: 'conversation', key_id: keyId, upstream: 'text', ended: null },
      { id: made.id, kind: 'response', key_id: keyId, model: 'sim-chat' },
    ],
  )
  t.match((await run('objects', 'list', '--kind', 'response')).stdout, new RegExp(made.id))
  t.notMatch((await run('objects', 'list', '--kind', 'file')).stdout, made.id)
  t.match(await run('objects', 'list', '--key', 'key_none'), { code: 0, stderr: /No stored object/ })
  t.match(await run('objects', 'end', made.id, '--reason', 'asked for'), { code: 0, stderr: /is ended/ })
  const refused = await openai.responses.retrieve(made.id).then(
    () => undefined,
    (error: unknown) => error,
  )
  t.match(refused, { status: 404, code: 'object_not_found' })
  t.match(await run('objects', 'end', made.id), { code: 1, stderr: /no stored object/ })
  const { trail } = started.gateway.storage
  t.match(await trail.list({ limit: 1 }), [{ action: 'object.end', subject: made.id, reason: 'asked for' }])
})
