import * as fc from 'fast-check'
import { rows } from '../../vendors/table.ts'
import { openDamagingVendors } from '../doors/damaging-vendors.ts'
import { type Fuzzer, insist } from '../fuzzer.ts'
import { readEvents } from '../readers/read-events.ts'
import { readJson } from '../readers/read-json.ts'

/** A request of one of the families, and additions to its vendor's answer that belong to no picture. */
type ForeignCase = { readonly asked: number; readonly strange: readonly Strange[] }
/** An addition: its object or list, the member it precedes, its name, its shape, and its event. */
type Strange = {
  readonly at: number
  readonly before: number
  readonly name: string
  readonly shape: (typeof shapes)[number]
  readonly event: number
}

type Asked = { readonly title: string; readonly path: string; readonly body: object }

const prompt = 'a boat'
const images = '/v1/images/generations'
const contents = [{ role: 'user', parts: [{ text: prompt }] }]
const native = '/v1beta/models/gemini-3-pro-image'
const chat = { model: 'google/gemini-2.5-flash-image', messages: [{ role: 'user', content: prompt }] }

/** An image request for every recipe and shipped family, and a stream where the family supports one. */
const all: readonly Asked[] = [
  ...['alpha-image-2', 'beta-imagine-image'].map(model => ask(model, {})),
  ask('alpha-image-2', { stream: true }),
  ...rows.flatMap(({ model, generation, stream }) =>
    [generation, stream].flatMap(one =>
      'cannot' in one || one.sends !== undefined
        ? []
        : ask(model, {
            ...one.more,
            partial_images: undefined,
            ...(one.size && { size: one.size }),
            ...(one.stream && { stream: true }),
          }),
    ),
  ),
  { title: 'gemini native', path: `${native}:generateContent`, body: { contents } },
  { title: 'gemini native, streamed', path: `${native}:streamGenerateContent?alt=sse`, body: { contents } },
  { title: 'chat', path: '/v1/chat/completions', body: chat },
  { title: 'chat, streamed', path: '/v1/chat/completions', body: { ...chat, stream: true } },
]

function ask(model: string, more: object): Asked {
  return { title: `${model} ${JSON.stringify(more)}`, path: images, body: { model, prompt, ...more } }
}

/** `event` is an event of its own with an unknown name; in an answer that is not a stream it is a link. */
const shapes = ['link', 'object', 'list', 'deep', 'event'] as const
const strange: fc.Arbitrary<Strange> = fc.record({
  at: fc.nat(60),
  before: fc.nat(12),
  name: fc.constantFrom('links', 'thumbnail', 'preview_url', 'self', 'images', 'poster', 'raw', 'next', 'variants'),
  shape: fc.constantFrom(...shapes),
  event: fc.nat(6),
})

type Container = { [name: string]: unknown } | unknown[]

/** Adds the additions to a copy of an answer: a new member of an object, or a new element of a list in an object. */
function put(text: string, all: readonly (Strange & { readonly link: string })[]): string {
  const tree = JSON.parse(text) as Container
  for (const { at, before, name, shape, link } of all) {
    const containers = objectsIn(tree)
    const into = containers[at % containers.length]
    if (!into) continue
    const members = Object.entries(into)
    const place = before % (members.length + 1)
    const value = { link, object: { href: link }, list: [link], deep: { a: [{ href: { x: link } }] }, event: link }[
      shape
    ]
    const free = name in into ? `${name}_${members.length}` : name
    const after = [...members.slice(0, place), [free, value] as const, ...members.slice(place)]
    for (const [own] of members) delete into[own]
    for (const [own, one] of after) into[own] = one
  }
  return JSON.stringify(tree)
}

function objectsIn(tree: unknown): { [name: string]: unknown }[] {
  if (typeof tree !== 'object' || tree === null) return []
  const below = Object.values(tree).flatMap(objectsIn)
  return Array.isArray(tree) ? below : [tree as { [name: string]: unknown }, ...below]
}

const eventOf = ({ name, link }: { readonly name: string; readonly link: string }): string =>
  `\n\nevent: ${name}\ndata: ${JSON.stringify({ type: name, [name]: link, url: link })}`
const preview = /^event: image_\w+\.partial_image\ndata: .*$/gm
const foreign = /https:(?:\\?\/){2}foreign\.example(?:\\?\/)\d+/g
const base64 = /(?:iVBORw0KGgo|\/9j\/|UklGR)[A-Za-z0-9+/\\]{200,}=*/g

export const foreignLinks: Fuzzer<ForeignCase> = {
  name: 'foreign-links',
  promise:
    'of no vendor a link that belongs to no picture leaves free, or keeps what was bought from whoever pays for it',
  cases: fc.record({ asked: fc.nat(all.length - 1), strange: fc.array(strange, { minLength: 1, maxLength: 3 }) }),
  short: 150,
  async open({ planted }) {
    const { started, origin, damage, close } = await openDamagingVendors(rows.map(({ page }) => page))
    const links = new RegExp(`${origin}(?:/[\\w-]+)?/files/[\\w.-]+`.replaceAll('/', String.raw`\\?/`), 'g')
    return {
      async try(one) {
        const { title, path, body } = all[one.asked % all.length] as Asked
        let event = -1
        damage((text, isEvent) => {
          if (isEvent) event++
          const here = one.strange.map((own, i) => ({ ...own, link: `https://foreign.example/${i}` }))
          if (!isEvent) return put(text, here)
          const own = here.filter(one => one.event === event)
          const behind = own.filter(({ shape }) => shape === 'event').map(eventOf)
          return (
            put(
              text,
              own.filter(({ shape }) => shape !== 'event'),
            ) + behind.join('')
          )
        })
        const answer = await started.post(path, body)
        const received = await answer.text()
        await started.settled()
        const [charge] = await started.charges(1)
        const id = answer.headers.get('x-request-id')
        insist(charge?.id === id, () => `${title}: no charge for ${id}`)
        const final = received.replaceAll(preview, '')
        const held = [base64, links, foreign].flatMap(pattern => [...new Set(final.match(pattern))])
        const count = planted ? 0 : charge.lines.filter(line => line.quantity === null).length
        const describe = (): string =>
          `${title}: ${held.length} held, ${charge.state} ${count}, ${answer.status} ${received.slice(0, 200)}`
        insist(held.length <= count, () => `free image: ${describe()}`)
        insist(charge.state !== 'voided', () => `bought, and nobody pays or looks: ${describe()}`)
        if (charge.state === 'settled') {
          insist(answer.status === 200 && held.length === count, () => `charged and withheld: ${describe()}`)
          const texts = answer.headers.get('content-type')?.includes('event-stream')
            ? readEvents(received).map(({ data }) => data.trim())
            : [received]
          for (const text of texts)
            if (text !== '' && text !== '[DONE]') insist(readJson(text) !== undefined, () => `spoilt: ${describe()}`)
        }
        return received.length
      },
      close,
    }
  },
}
