import { readFileSync, watch } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { createGateway, createKey, describeFindings, type Gateway, type Listening } from '../../index.ts'
import { Exit, exitCodes, say } from '../exit.ts'

/** How this program is called: by its name where it is installed, by npm in a clone. */
const ourselves = import.meta.url.endsWith('.js') ? 'tollgate' : 'npm run -s tollgate --'

/** Runs the gateway until a signal ends it: SIGTERM and SIGINT drain, a second one ends at once, SIGHUP reloads. */
export async function serve(options: { readonly config: string }): Promise<void> {
  const gateway = await open(options.config)
  const listening = await gateway.listen().catch(async (error: unknown) => {
    await gateway.close()
    throw new Exit(exitCodes.failure, listenAdvice(gateway, error))
  })
  announce(gateway, listening, options.config)
  await offerFirstKey(gateway, listening, options.config)
  handleSignals(gateway)
  watchFile(options.config, () => void reload(gateway))
}

/** Calls when the file's content has changed and has been at rest for a moment; editors write in several steps. */
function watchFile(file: string, onChange: () => void): void {
  const path = resolve(file)
  const read = (): string | undefined => {
    try {
      return readFileSync(path, 'utf8')
    } catch {
      return undefined
    }
  }
  let known = read()
  let rest: NodeJS.Timeout | undefined
  const look = (): void => {
    const text = read()
    // Between two steps of an editor the file may be gone or empty; what is there at rest counts.
    if (text === undefined || text === known) return
    known = text
    onChange()
  }
  try {
    // The folder is watched, not the file: an editor that replaces the file would end a watch on it.
    watch(dirname(path), { persistent: false }, (_event, name) => {
      if (name !== null && name !== basename(path)) return
      clearTimeout(rest)
      rest = setTimeout(look, 200)
    })
  } catch (error) {
    say(`changes of ${file} are not noticed by themselves (${String(error)}); SIGHUP reloads`)
  }
}

async function open(config: string): Promise<Gateway> {
  try {
    return await createGateway(config)
  } catch (error) {
    if (error instanceof Error && error.name === 'ConfigError') throw new Exit(exitCodes.configInvalid, error.message)
    throw error
  }
}

function listenAdvice(gateway: Gateway, error: unknown): string {
  const { code, message, address, port } = error as NodeJS.ErrnoException & { address?: string; port?: number }
  const { listen, ops } = gateway.plan.server
  const wanted = [listen, ops].filter(address => address !== undefined).map(({ host, port }) => `${host}:${port}`)
  if (code === 'EADDRINUSE')
    return `${address}:${port} is taken by another program. Stop it, or choose another address: server.listen and server.ops in the configuration (the shipped one reads TOLLGATE_LISTEN and TOLLGATE_OPS).`
  return `cannot listen on ${wanted.join(' and ')}: ${message}`
}

function announce(gateway: Gateway, { url, opsUrl }: Listening, config: string): void {
  say(`tollgate   ${url}/v1   configuration ${resolve(config)} (revision ${gateway.plan.revision})`)
  if (opsUrl) say(`operators  ${opsUrl}/metrics  /healthz  /readyz`)
  for (const name of gateway.simulated.keys())
    say(
      `SIMULATED  upstream '${name}' is a simulator: answers are made up here, nothing is bought. Give it a real url in ${config}.`,
    )
}

/** On an empty database: a key, and a request to paste. */
async function offerFirstKey(gateway: Gateway, { url }: Listening, config: string): Promise<void> {
  if ((await gateway.storage.keys.count()) > 0) return
  const { key, secret } = await createKey(gateway.storage, { name: 'first key', user: 'local' })
  const model = [...gateway.plan.models.values()].find(one => one.enabled && one.family.forward.has('image.generate'))
  say(`\nA first key was made (${key.id}); it is shown this once:\n\n  ${secret}\n`)
  if (!model) return
  say(`Try it:\n
  curl -s ${url}/v1/images/generations \\
    -H 'Authorization: Bearer ${secret}' -H 'Content-Type: application/json' \\
    -d '{"model":"${model.name}","prompt":"a quiet harbour at dawn","size":"1536x1024"}' \\
    | node -e 'let t="";process.stdin.on("data",d=>t+=d).on("end",()=>{const b=JSON.parse(t).data[0].b64_json;require("fs").writeFileSync("picture.png",Buffer.from(b,"base64"));console.log("picture.png")})'

Then see what it cost, and why:

  ${ourselves} logs${config === 'gateway.yaml' ? '' : ` -c ${config}`}
`)
}

function handleSignals(gateway: Gateway): void {
  let ending = false
  const end = (signal: NodeJS.Signals): void => {
    if (ending) process.exit(1)
    ending = true
    const { open, plan } = gateway
    const work = `${open} ${open === 1 ? 'request' : 'requests'}`
    say(`${signal}: finishing ${work}, at most ${Math.round(plan.server.drainMs / 1000)} s. Again to end at once.`)
    gateway.close().then(
      () => process.exit(0),
      (error: unknown) => {
        say(`closing failed: ${String(error)}`)
        process.exit(1)
      },
    )
  }
  process.on('SIGTERM', end).on('SIGINT', end)
  process.on('SIGHUP', () => void reload(gateway))
  process.on('uncaughtException', error => {
    gateway.log.error({ stack: error.stack }, 'a fault that nobody handled: finishing and ending')
    setTimeout(() => process.exit(1), 5_000).unref()
    const end = (): void => process.exit(1)
    gateway.close().then(end, end)
  })
}

async function reload(gateway: Gateway): Promise<void> {
  try {
    const result = await gateway.reload()
    if (result.ok)
      say(
        result.changes.length === 0
          ? `reloaded: revision ${result.revision}, nothing has changed`
          : [`reloaded: revision ${result.revision}`, ...result.changes.map(change => `  ${change}`)].join('\n'),
      )
    else
      say(
        `the new configuration is refused; the old one stays\n${await describeFindings(result.findings, { color: process.stderr.isTTY })}`,
      )
  } catch (error) {
    say(`reload failed; the old configuration stays: ${String(error)}`)
  }
}
