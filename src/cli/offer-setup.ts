import { isConsoleBuilt, offerSetup as makeOffer, waysIn } from '../index.ts'
import { say } from './exit.ts'
import { chooseSecretOutput } from './secret-output.ts'
import type { Served } from './served.ts'

const purpose = 'creates the first administrator; it works once, within 24 hours'

/** The console's address; while no one can log in there, also the link that creates the first administrator. */
export async function offerSetup(served: Served): Promise<void> {
  if (!served.plan.server.console) return
  if (!(await isConsoleBuilt()))
    return say(
      'console    not built, nor are the pages /pricing and /docs; run `npm ci` without --omit=dev to build them. Everything else works',
    )
  const ways = waysIn(served.plan)
  const needed = await served.withStorage(async storage => !(await storage.users.hasAdmin(ways)))
  if (!needed) return say(`console    ${served.url}/console`)
  const place = await chooseSecretOutput('tollgate-setup-link', served.plan)
  if (place.kind === 'nowhere') {
    say(`console    ${served.url}/console`)
    return say(
      `           has no administrator, and no setup link was created: there is no terminal, and no file could be written (${place.reason}). Create one: tollgate users create NAME --role admin, tollgate users passwd NAME`,
    )
  }
  const token = await served.withStorage(storage => makeOffer(storage, undefined, undefined, ways))
  const link = `${served.plan.server.publicUrl ?? served.url}/console/setup#${token}`
  if (place.kind === 'terminal') {
    say(`console    ${link}`)
    return say(`           ${purpose}`)
  }
  await place.write(`${link}\n`)
  say(`console    ${served.url}/console`)
  say(
    `           the setup link is in ${place.path} (mode 600), because there is no terminal to show it on. It ${purpose}`,
  )
}
