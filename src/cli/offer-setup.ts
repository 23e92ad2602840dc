import { isConsoleBuilt, offerSetup as makeOffer, waysIn } from '../index.ts'
import { say } from './exit.ts'
import { handOver } from './hand-over.ts'
import type { Served } from './served.ts'

const purpose = 'makes the first administrator, once, within 24 hours'

/** The address of the console; and while no one can log in there, the link that makes the first administrator. */
export async function offerSetup(served: Served): Promise<void> {
  if (!served.plan.server.console) return
  if (!(await isConsoleBuilt()))
    return say(
      'console    is not built here, nor are the pages /pricing and /docs: `npm ci` without --omit=dev builds them; everything else works',
    )
  const ways = waysIn(served.plan)
  const needed = await served.withStorage(async storage => !(await storage.users.hasAdmin(ways)))
  if (!needed) return say(`console    ${served.url}/console`)
  const place = await handOver('tollgate-setup-link', served.plan)
  if (place.kind === 'nowhere') {
    say(`console    ${served.url}/console`)
    return say(
      `           has no administrator, and no link for one was made: there is no terminal, and no file could be written (${place.reason}). Make one: tollgate users create NAME --role admin, tollgate users passwd NAME`,
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
  say(`           its link that ${purpose}, is in ${place.path} (mode 600): there is no terminal to show it on`)
}
