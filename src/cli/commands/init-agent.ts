import { mkdir, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { loadConfig } from '../../index.ts'
import { type Agent, type AgentSettings, agents, type AgentTarget } from '../agents.ts'
import { Exit, exitCodes, print, say } from '../exit.ts'
import { showFindings } from '../show-findings.ts'

type Options = {
  readonly agent: string
  readonly url?: string
  readonly model?: string
  readonly write: boolean
  readonly force: boolean
}

const keyVariable = 'TOLLGATE_API_KEY'

/**
 * Prints the settings of an agent for the gateway of a folder: shell lines, and a file if the agent reads one. With
 * `write` it writes the file. @throws Exit usage, failure, configInvalid
 */
export async function initAgent(folder: string, options: Options): Promise<void> {
  const agent = agents.find(({ name }) => name === options.agent)
  if (!agent) {
    const names = agents.map(({ name }) => name).join(', ')
    throw new Exit(exitCodes.usage, `error: unknown agent '${options.agent}'. Use one of: ${names}.`)
  }
  const settings = agent.settings(await findTarget(folder, agent, options), `$${keyVariable}`)
  const lines = shellLines(settings)
  if (lines.length > 0) print(lines.join('\n'))
  say(`\nSet ${keyVariable} to an API key; \`tollgate keys create\` makes one.`)
  const { file } = settings
  if (!file) return
  if (options.write) return write(file, options.force)
  say(`Put this into ${file.path}, or run the command again with --write:\n`)
  print(file.text.trimEnd())
}

/** Reads settings without a flag from the configuration. */
async function findTarget(folder: string, agent: Agent, { url, model }: Options): Promise<AgentTarget> {
  if (url !== undefined && model !== undefined) return { url: originOf(url), model }
  const file = join(folder, 'gateway.yaml')
  const loaded = await loadConfig(file)
  if (!loaded.ok) throw new Exit(exitCodes.configInvalid, await showFindings(loaded.findings))
  const { plan } = loaded
  const offered = [...plan.models.values()].filter(
    ({ enabled, family }) => enabled && (family.forward.size === 0 || family.forward.has(agent.operation)),
  )
  const chosen = model ?? offered[0]?.name
  if (chosen === undefined)
    throw new Exit(
      exitCodes.failure,
      `error: no model of ${file} offers ${agent.operation}, which ${agent.title} needs. Add one, or name one with --model.`,
    )
  if (!offered.some(({ name }) => name === chosen))
    throw new Exit(
      exitCodes.usage,
      `error: model '${chosen}' of ${file} does not offer ${agent.operation}, which ${agent.title} needs. Use one of: ${offered.map(({ name }) => name).join(', ')}.`,
    )
  const { host, port } = plan.server.listen
  const named = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  return { url: originOf(url ?? `http://${named.includes(':') ? `[${named}]` : named}:${port}`), model: chosen }
}

/** @throws Exit usage */
function originOf(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (parsed?.protocol !== 'http:' && parsed?.protocol !== 'https:')
    throw new Exit(exitCodes.usage, `error: --url '${url}' is not an address. Write it as https://gateway.example.`)
  return parsed.origin + parsed.pathname.replace(/\/(?:v1\/?)?$/, '')
}

function shellLines({ env }: AgentSettings): readonly string[] {
  return Object.entries(env)
    .filter(([name, value]) => value !== `$${name}`)
    .map(([name, value]) => `export ${name}="${value}"`)
}

async function write({ path, text }: NonNullable<AgentSettings['file']>, force: boolean): Promise<void> {
  const file = path.startsWith('~/') ? join(homedir(), path.slice(2)) : path
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, text, { flag: force ? 'w' : 'wx' }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
    throw new Exit(
      exitCodes.failure,
      `${file} exists. Run the command without --write and merge the lines, or use --force to replace the file.`,
    )
  })
  say(`wrote ${file}`)
}
