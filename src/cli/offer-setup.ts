import { offerSetup as makeOffer } from '../index.ts'
import { say } from './exit.ts'
import type { Served } from './served.ts'

/** Where the console is; and while nobody can log in there, the link that makes the first administrator. */
export async function offerSetup(served: Served): Promise<void> {
  if (!served.plan.server.console) return
  const token = await served.withStorage(makeOffer)
  if (token === undefined) return say(`console    ${served.url}/console`)
  say(`console    ${served.url}/console/setup#${token}`)
  say('           makes the first administrator, once, within 24 hours')
}
