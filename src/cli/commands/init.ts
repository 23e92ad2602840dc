import { access, appendFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { draftConfig, firstUpstreams, type FirstDraft, listRecipes, loadConfig } from '../../index.ts'
import type { SetupAnswers } from '../ask-setup.ts'
import { Exit, exitCodes, say } from '../exit.ts'
import { showFindings } from '../show-findings.ts'
import { addVendors, standIns, reportNeeds } from './add-vendors.ts'
import { findRecipe } from './recipes.ts'

type Options = {
  readonly upstream: ReadonlyMap<string, string>
  readonly vendor: readonly string[]
  readonly currency?: string
  readonly listen?: string
  readonly ops?: string
  readonly storage?: string
  readonly counters?: string
  readonly format?: string
  readonly yes: boolean
  readonly force: boolean
}

/**
 * Prepares a folder for `serve`: gateway.yaml, .env.example, and lines of .gitignore; or adds vendors to an existing
 * file.
 */
export async function init(folder: string, options: Options): Promise<void> {
  if (options.vendor.length > 0) return initVendors(folder, options)
  const { yes, force, upstream, vendor, ...flags } = options
  const names = await firstUpstreams()
  const unknown = [...upstream.keys()].find(name => !names.includes(name))
  if (unknown !== undefined)
    throw new Exit(
      exitCodes.usage,
      `error: unknown upstream '${unknown}'; expected one of ${names.join(', ')}. Add others in gateway.yaml.`,
    )
  refuseSecret('storage', 'TOLLGATE_STORAGE', flags.storage)
  refuseSecret('counters', 'TOLLGATE_COUNTERS', flags.counters)
  await refuseToOverwrite(folder, force)
  const answers = yes ? { ...flags, vendor } : { ...flags, ...(await ask({ ...flags, vendor }, upstream.size > 0)) }
  if (answers.vendor.length > 0) return initVendors(folder, { ...options, ...answers })
  const draft = await draftConfig(folder, { ...answers, upstreams: upstream })
  await refuseInvalid(join(folder, 'gateway.yaml'), draft.files['gateway.yaml'])
  await write(folder, draft)
}

/** Uses recipes, which answer all questions. */
async function initVendors(folder: string, options: Options): Promise<void> {
  const { yes: _, format: __, force, upstream, vendor, ...flags } = options
  if (upstream.size > 0)
    throw new Exit(
      exitCodes.usage,
      'error: --upstream is only for the simulated vendors. The URL of a --vendor is set by its variable (tollgate recipes NAME).',
    )
  const recipes = await Promise.all([...new Set(vendor)].map(findRecipe))
  if (!force && (await isThere(join(folder, 'gateway.yaml')))) {
    const [flag] = Object.keys(flags)
    if (flag !== undefined)
      throw new Exit(
        exitCodes.usage,
        `error: --${flag} is only for a new file; ${join(folder, 'gateway.yaml')} already exists`,
      )
    return addVendors(folder, recipes)
  }
  refuseSecret('storage', 'TOLLGATE_STORAGE', flags.storage)
  refuseSecret('counters', 'TOLLGATE_COUNTERS', flags.counters)
  await refuseToOverwrite(folder, force)
  const draft = await draftConfig(folder, { ...flags, upstreams: upstream }, recipes)
  await refuseInvalid(join(folder, 'gateway.yaml'), draft.files['gateway.yaml'], standIns(recipes))
  await write(folder, draft)
  reportNeeds(recipes)
}

async function write(folder: string, { files, ignores }: FirstDraft): Promise<void> {
  await mkdir(folder, { recursive: true })
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  await ignore(join(folder, '.gitignore'), ignores)
  const [where, there] = folder === '.' ? ['', 'here'] : [`cd ${folder} && `, `in ${folder}`]
  say(`written ${there}: ${Object.keys(files).join(', ')}. Next: ${where}npx tollgate serve`)
}

async function ask(given: SetupAnswers, hasUpstreams: boolean): Promise<SetupAnswers> {
  if (!process.stdin.isTTY || !process.stderr.isTTY)
    throw new Exit(exitCodes.usage, 'error: no terminal. Use --yes to accept the defaults.')
  return (await import('../ask-setup.ts')).askSetup(given, hasUpstreams ? undefined : await listRecipes())
}

async function refuseToOverwrite(folder: string, force: boolean): Promise<void> {
  if (force) return
  for (const name of ['gateway.yaml', '.env.example']) {
    if (await isThere(join(folder, name)))
      throw new Exit(exitCodes.failure, `${join(folder, name)} already exists; use --force to overwrite it`)
  }
}

async function isThere(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  )
}

/** Refuses a password in a URL: all these files belong in a repository, including .env.example. */
function refuseSecret(flag: string, variable: string, url = ''): void {
  if (!URL.canParse(url) || new URL(url).password === '') return
  throw new Exit(
    exitCodes.usage,
    `error: --${flag} contains a password, which would be written to files that are shared. Omit it, and set ${variable} to the full URL when you start the gateway.`,
  )
}

/** Reports an invalid answer like `check`; nothing is written. */
async function refuseInvalid(file: string, text: string, env: NodeJS.ProcessEnv = {}): Promise<void> {
  const loaded = await loadConfig({ file, text }, env)
  if (!loaded.ok) throw new Exit(exitCodes.usage, await showFindings(loaded.findings))
}

async function ignore(file: string, wanted: readonly string[]): Promise<void> {
  const text = await readFile(file, 'utf8').catch(() => '')
  const lines = text.split(/\r?\n/)
  const missing = wanted.filter(line => !lines.includes(line))
  const gap = text === '' || text.endsWith('\n') ? '' : '\n'
  if (missing.length > 0) await appendFile(file, `${gap}${missing.join('\n')}\n`)
}
