import { runCommand } from './commands.ts'
import { start } from './start.ts'

// Run once for each bundle: what a gateway and a command need is compiled and kept, for all tests after it.
const ends: (() => unknown)[] = []
const { post, url, settled, folder } = await start({ teardown: end => void ends.push(end) }, { simulated: true })
await post('/v1/chat/completions', {
  model: 'sim-chat',
  stream: true,
  messages: [{ role: 'user', content: 'hello' }],
}).then(answer => answer.text())
const image = { model: 'alpha-image-2', prompt: 'a boat', size: '1024x1024' }
await post('/v1/images/generations', image).then(answer => answer.text())
for (const path of ['/api/logs', '/v1/models', '/console/']) await fetch(url + path).then(answer => answer.text())
await settled()
const env = { ...process.env, TOLLGATE_STORAGE: `sqlite:${folder}/tollgate.db` }
for (const words of [['check'], ['keys', 'list'], ['logs'], ['usage', '--by', 'model']])
  await runCommand({ env }, words)
for (const end of ends) await end()
