import t from 'tap'
import { openReceiver } from '../harness/receiver.ts'
import { start } from '../harness/start.ts'

t.test('metrics report how long a receiver of events accepts nothing, and that another accepts them', async t => {
  const [away, there] = [await openReceiver(), await openReceiver()]
  await away.close()
  t.teardown(() => there.close())
  const receiver = (url: string) =>
    `{ url: "${url}", secret: "\${HOOK_SECRET}", kinds: ["config.*"], allow_private: true }`
  const both = `away: ${receiver(away.url)}, there: ${receiver(there.url)}`
  const { gateway, opsUrl } = await start(t, {
    upstreams: [],
    edit: [['retention: { log: 90d }', `retention: { log: 90d }\nevents: { webhooks: { ${both} } }\n#`]],
    env: { HOOK_SECRET: `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}` },
  })
  const silentFor = async (name: string) => {
    const text = await (await fetch(`${opsUrl}/metrics`)).text()
    const found = new RegExp(`^tollgate_webhook_silent_seconds\\{webhook="${name}"\\} (\\S+)$`, 'm').exec(text)?.[1]
    return found === undefined ? undefined : Number(found)
  }
  const wait = () => new Promise(resolve => setTimeout(resolve, 20))
  while ((await gateway.storage.events.webhooks.list()).length < 2) await wait()
  t.equal(await silentFor('away'), 0, 'no event yet')
  await gateway.storage.events.add({ kind: 'config.applied', data: { revision: 'one' } })
  await there.has(1)
  while (!((await silentFor('away')) ?? 0)) await wait()
  t.ok(((await silentFor('away')) ?? 0) > 0)
  t.equal(await silentFor('there'), 0)
})
