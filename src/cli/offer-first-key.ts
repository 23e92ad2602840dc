import { createKey, listOperations } from '../index.ts'
import { say } from './exit.ts'
import { chooseSecretOutput } from './secret-output.ts'
import type { Served } from './served.ts'

/** The command for this program: npx if that started it, its name if it is installed, npm in a clone. */
const installed = process.env['npm_command'] === 'exec' ? 'npx tollgate' : 'tollgate'
const ourselves = import.meta.url.endsWith('.js') ? installed : 'npm run -s tollgate --'

/** Creates a key for an empty database, and prints a sample request. */
export async function offerFirstKey(served: Served, config: string): Promise<void> {
  const isFirst = await served.withStorage(async storage => (await storage.keys.count()) === 0)
  if (!isFirst) return
  const place = await chooseSecretOutput('tollgate-first-key', served.plan)
  if (place.kind === 'nowhere')
    return say(
      `There are no API keys, and none was created: there is no terminal, and no file could be written (${place.reason}). Create one: ${ourselves} keys create --name first --user local`,
    )
  const { key, secret } = await served.withStorage(storage => createKey(storage, { name: 'first key', user: 'local' }))
  const isShown = place.kind === 'terminal'
  if (!isShown) await place.write(`${secret}\n`)
  const { name = '', path } = (await listOperations()).find(({ traits }) => traits.images === 'new') ?? {}
  const model = [...served.plan.models.values()].find(one => one.enabled && one.family.forward.has(name))
  if (isShown) say(`\nCreated a first API key (${key.id}). It is shown only now:\n\n  ${secret}\n`)
  else
    say(`Created a first API key (${key.id}) in ${place.path} (mode 600), because there is no terminal to show it on`)
  if (!model) return
  const bearer = isShown ? `'Authorization: Bearer ${secret}'` : `"Authorization: Bearer $(cat '${place.path}')"`
  say(`Try it:\n
  curl -s ${served.url}${path} \\
    -H ${bearer} -H 'Content-Type: application/json' \\
    -d '{"model":"${model.name}","prompt":"a quiet harbour at dawn","size":"1536x1024"}' \\
    | node -e 'let t="";process.stdin.on("data",d=>t+=d).on("end",()=>{const b=JSON.parse(t).data[0].b64_json;require("fs").writeFileSync("picture.png",Buffer.from(b,"base64"));console.log("picture.png")})'

Then see what it cost:

  ${ourselves} logs${config === 'gateway.yaml' ? '' : ` -c ${config}`}
`)
}
