import { randomUUID } from 'node:crypto'
import { Failure } from '../../domain/index.ts'
import type { Awaitable } from '../../util/index.ts'
import { answerJson } from '../answer.ts'
import { createLinks } from '../links.ts'
import type { Picture } from '../pictures/picture.ts'
import { mediaTypes } from '../pictures/picture.ts'
import type { Call, Handler, Played, SimulatedUpstream, Site } from '../upstream.ts'
import type { Demands } from './demands.ts'
import { Jobs } from './jobs.ts'
import { Ledger } from './ledger.ts'
import { answerProblem, Problem } from './problem.ts'
import type { Words } from './problem.ts'

/** The state of a vendor while the simulator runs. */
export type Desk = {
  /** The address of the vendor itself. */
  readonly url: string
  readonly jobs: Jobs
  readonly ledger: Ledger
  /** Returns a link to a picture; it expires after the vendor's `linkMinutes`. */
  publish(picture: Picture, demands: Demands): string
  find(link: string): Picture | undefined
}

/** A request that has passed the vendor's check of the credential. */
export type VendorRequest = Call & {
  readonly desk: Desk
  /** The vendor's id of the request, sent in `x-request-id`. */
  readonly id: string
}

export type Vendor = {
  /** The name after `simulator:`. */
  readonly name: string
  readonly words: Words
  /** True if the credential is where the vendor expects it; any value is accepted. */
  readonly credential: (call: Call) => boolean
  /** The lifetime of links, an hour by default. */
  readonly linkMinutes?: number
  /** By `METHOD /path`, as in a simulated upstream. */
  readonly routes: { readonly [route: string]: (request: VendorRequest) => Awaitable<Played> }
}

const linksMax = 20_000

/**
 * A simulated vendor, with two routes in addition to its own. `GET /files/NAME` is the target of its links; it refuses
 * a credential, as a signed link does. `GET /made` lists the pictures that the vendor has made (`Made`; `?prompt=`
 * limits the list to one prompt): their number, their pixels, and their prices from the simulator's list.
 */
export function openVendor(vendor: Vendor): SimulatedUpstream {
  const desks = new WeakMap<Site, Desk>()
  const deskOf = (site: Site): Desk => {
    const known = desks.get(site)
    if (known) return known
    const desk = createDesk(site, vendor)
    desks.set(site, desk)
    return desk
  }
  const serve =
    (route: (request: VendorRequest) => Awaitable<Played>): Handler =>
    async call => {
      const id = randomUUID()
      const played = await guard(vendor, call, () => route({ ...call, id, desk: deskOf(call.site) }))
      return { ...played, headers: { 'x-request-id': id, ...played.headers } }
    }
  return {
    'GET /made': ({ site, query }) => {
      const { jobs, ledger } = deskOf(site)
      jobs.settle()
      return answerJson(200, ledger.summary(query.get('prompt')))
    },
    'GET /files/{file}': call => download(call, deskOf(call.site)),
    ...Object.fromEntries(Object.entries(vendor.routes).map(([path, route]) => [path, serve(route)])),
  }
}

function createDesk(site: Site, { name, linkMinutes = 60 }: Vendor): Desk {
  const tick = () => site.tick()
  const links = createLinks({ tick }, linksMax, linkMinutes * 60_000)
  const url = `${site.origin()}/${name}`
  return {
    url,
    jobs: new Jobs(tick),
    ledger: new Ledger(),
    publish: (picture, demands) => `${url}/files/${demands.has('gone') ? 'gone.png' : links.add(picture)}`,
    find: link => links.find(link),
  }
}

async function guard({ words, credential }: Vendor, call: Call, answer: () => Awaitable<Played>): Promise<Played> {
  try {
    if (!credential(call)) throw new Problem('unauthorized', 'The API key is missing.')
    return await answer()
  } catch (cause) {
    if (cause instanceof Problem) return answerProblem(words, cause)
    if (cause instanceof Failure) return answerProblem(words, new Problem('invalid_value', cause.message))
    throw cause
  }
}

const credentialHeaders = ['authorization', 'x-key', 'x-api-key', 'api-key', 'x-goog-api-key']

async function download({ site, params, headers }: Call, desk: Desk): Promise<Played> {
  const sent = credentialHeaders.find(name => headers[name] !== undefined)
  if (sent !== undefined) return answerJson(400, { error: `A signed link takes no '${sent}' header.` })
  const picture = desk.find(params['file'] ?? '')
  if (!picture) return answerJson(404, { error: 'This link has ended.' })
  const body = await site.paint(picture)
  const type = { 'content-type': mediaTypes[picture.format], 'content-length': String(body.length) }
  return { status: 200, headers: { ...type, 'cache-control': 'no-store' }, body }
}

/** True if `authorization` has a credential after this word. */
export function bearer(call: Pick<Call, 'headers'>, word = 'Bearer'): boolean {
  return (call.headers['authorization'] ?? '').startsWith(`${word} `)
}
