import { resolve } from 'node:path'
import { type ConfigHow, loadConfig, type ConfigFiles, prepareProcess, watchSecrets } from '../../index.ts'
import { Exit, exitCodes, say } from '../exit.ts'
import { listenAdvice } from '../listen-advice.ts'
import { offerFirstKey } from '../offer-first-key.ts'
import { offerSetup } from '../offer-setup.ts'
import { type Served, serveHere, serveWorkers } from '../served.ts'
import { showFindings } from '../show-findings.ts'
import { watchFile } from '../watch-file.ts'

/** Runs the gateway until a signal ends it: SIGTERM and SIGINT drain, a second one ends at once, SIGHUP reloads. */
export async function serve({ config }: { readonly config: string }): Promise<void> {
  const release = await prepareProcess()
  // The watch begins before the file is read, so that it sees what is saved during the start.
  const opening = Promise.withResolvers<Served>()
  const follow = watchFile(config, () => {
    void opening.promise.then(served => reload(served, 'file')).then(files => follow(files))
  })
  const served = await open(config).finally(release)
  opening.resolve(served)
  follow(filesOf(served.plan.files))
  handleSignals(served, follow)
  await watchSecrets({
    get plan() {
      return served.plan
    },
    log: served.log,
    reload: async () => follow(await reload(served, 'secret')),
  })
  announce(served, config)
  await offerSetup(served)
  await offerFirstKey(served, config)
}

async function open(config: string): Promise<Served> {
  const loaded = await loadConfig(config, process.env, { again: true })
  if (!loaded.ok) throw new Exit(exitCodes.configInvalid, await showFindings(loaded.findings))
  const { plan } = loaded
  try {
    return await (plan.server.workers === 1 ? serveHere(config, plan) : serveWorkers(config))
  } catch (error) {
    const advice = listenAdvice(plan, error)
    throw advice === undefined ? error : new Exit(exitCodes.failure, advice)
  }
}

function announce({ url, opsUrl, plan, simulated }: Served, config: string): void {
  say(`tollgate   ${url}/v1   configuration ${resolve(config)} (revision ${plan.revision})`)
  if (opsUrl) say(`operators  ${opsUrl}/metrics  /healthz  /readyz`)
  for (const warning of plan.warnings ?? []) say(`WARNING    ${warning}`)
  for (const name of simulated)
    say(
      `SIMULATED  upstream '${name}' is simulated: nothing is bought, and keys are charged as usual. Set its URL in ${config}.`,
    )
}

function handleSignals(served: Served, follow: (files: ConfigFiles) => void): void {
  let ending = false
  const exit = (code: number): never => {
    served.abandon()
    process.exit(code)
  }
  const close = (code: number): void => {
    served.close().then(
      () => exit(code),
      (error: unknown) => {
        say(`closing failed: ${String(error)}`)
        exit(exitCodes.failure)
      },
    )
  }
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (ending) exit(exitCodes.failure)
    ending = true
    const counting = served.open()
    close(exitCodes.ok)
    const open = await counting
    const { drainMs, drainWaitMs } = served.plan.server
    const work = `${open} ${open === 1 ? 'request' : 'requests'}`
    const seconds = Math.round((drainWaitMs + drainMs) / 1000)
    say(`${signal}: finishing ${work}, for at most ${seconds} s. Repeat the signal to stop immediately.`)
  }
  process.on('SIGTERM', signal => void end(signal)).on('SIGINT', signal => void end(signal))
  process.on('SIGHUP', () => void reload(served, 'signal').then(follow))
  void served.failed.then(error => {
    if (ending) return
    ending = true
    say(`workers cannot be started: ${error.message}`)
    close(exitCodes.failure)
  })
}

/** @returns the files that belong to the configuration now: to the one in use, and to the one that was refused */
async function reload(served: Served, how: ConfigHow): Promise<ConfigFiles> {
  try {
    const result = await served.reload({ how, by: null })
    if (result.ok)
      say(
        result.changes.length === 0
          ? `reloaded: revision ${result.revision}, no changes`
          : [`reloaded: revision ${result.revision}`, ...result.changes.map(change => `  ${change}`)].join('\n'),
      )
    else say(`the new configuration was rejected; the old one stays active\n${await showFindings(result.findings)}`)
    return filesOf(served.plan.files, result.ok ? undefined : result.files)
  } catch (error) {
    say(`reload failed; the old configuration stays active: ${String(error)}`)
    return filesOf(served.plan.files)
  }
}

function filesOf(...all: readonly (ConfigFiles | undefined)[]): ConfigFiles {
  return { named: all.flatMap(one => one?.named ?? []), patterns: all.flatMap(one => one?.patterns ?? []) }
}
