import { createKey, listOperations } from '../index.ts'
import { say } from './exit.ts'
import type { Served } from './served.ts'

/** How this program is called: by its name where it is installed, by npm in a clone. */
const ourselves = import.meta.url.endsWith('.js') ? 'tollgate' : 'npm run -s tollgate --'

/** On an empty database: a key, and a request to paste. */
export async function offerFirstKey(served: Served, config: string): Promise<void> {
  const made = await served.withStorage(async storage => {
    if ((await storage.keys.count()) > 0) return undefined
    return createKey(storage, { name: 'first key', user: 'local' })
  })
  if (!made) return
  const { key, secret } = made
  const { name = '', path } = (await listOperations()).find(({ traits }) => traits.images === 'new') ?? {}
  const model = [...served.plan.models.values()].find(one => one.enabled && one.family.forward.has(name))
  say(`\nA first key was made (${key.id}); it is shown this once:\n\n  ${secret}\n`)
  if (!model) return
  say(`Try it:\n
  curl -s ${served.url}${path} \\
    -H 'Authorization: Bearer ${secret}' -H 'Content-Type: application/json' \\
    -d '{"model":"${model.name}","prompt":"a quiet harbour at dawn","size":"1536x1024"}' \\
    | node -e 'let t="";process.stdin.on("data",d=>t+=d).on("end",()=>{const b=JSON.parse(t).data[0].b64_json;require("fs").writeFileSync("picture.png",Buffer.from(b,"base64"));console.log("picture.png")})'

Then see what it cost, and why:

  ${ourselves} logs${config === 'gateway.yaml' ? '' : ` -c ${config}`}
`)
}
