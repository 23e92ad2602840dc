import { readFile } from 'node:fs/promises'
import { toFile } from 'openai'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import { png } from '../harness/pictures.ts'
import { merge, readRecipe, readShipped, simulatedIn, type Tree } from '../harness/recipes.ts'
import { checkBooks } from '../harness/shop.ts'
import { start, type Started } from '../harness/start.ts'
import { openVendors, pictureIn } from '../harness/vendors.ts'
import { type OperationName, operations, type Row, rows, type Try, writeTable } from './table.ts'

const pages = [...new Set(rows.map(row => row.page))]
const vendors = await openVendors()
const started = await startAll()

for (const row of rows)
  void t.test(`${row.vendor} by ${row.page}`, async t => {
    for (const operation of operations) {
      const own = row[operation]
      if ('cannot' in own) t.comment(`${row.vendor} ${operation}: cannot be had, ${own.cannot}`)
      else await t.test(operation, async t => (operation === 'refusal' ? refuse : answer)(t, row, operation, own))
    }
  })

t.test('the page of recipes says what was tried, and what cannot be had', async t => {
  const recipes = new Map(await Promise.all(pages.map(async page => [page, await readRecipe(page)] as const)))
  const table = writeTable(({ page, model }) => {
    const { texts = [], fragments = [] } = recipes.get(page) ?? {}
    const block = fragments.findIndex(({ models }) => Object.hasOwn((models ?? {}) as object, model))
    return (texts[block] ?? '').trimEnd().split('\n').length
  })
  t.comment(`\n${table}`)
  const text = await readFile(new URL('../../docs/recipes/README.md', import.meta.url), 'utf8')
  t.ok(text.includes(table), `docs/recipes/README.md has this table:\n${table}`)
})

t.test('and then the books hold', async t => {
  await started.settled()
  t.strictSame(await checkBooks(started.gateway), [])
})

/** One gateway with every recipe in its file, before simulated vendors whose own books can be read. */
async function startAll(): Promise<Started> {
  let whole = await readShipped()
  const env: Record<string, string> = {}
  for (const page of pages) {
    const { texts, fragments } = await readRecipe(page)
    for (const fragment of fragments) whole = merge(whole, fragment)
    for (const [variable, name] of texts.flatMap(simulatedIn)) env[variable] = vendors.simulator.url(name) ?? ''
  }
  const groups: Tree = { default: { rpm: 1_000_000, tpm: 500_000 } }
  return await start(t, { yaml: stringify(merge(whole, { groups }), { lineWidth: 0 }), env, upstreams: [] })
}

type Came = { readonly pictures: readonly string[]; readonly id: string }

async function ask(row: Row, name: OperationName, own: Try): Promise<Came> {
  const { openai } = started
  const { size, n, more, sends = 0, stream, model = row.model } = own
  const asked = { model, prompt: promptOf(row, name, own), ...(size && { size }), ...(n && { n }), ...more }
  const files = Array.from({ length: sends }, (_, i) => toFile(png(40, 30), `${i}.png`, { type: 'image/png' }))
  const image = await Promise.all(files)
  const body = { ...asked, ...(sends > 0 && { image: image.length === 1 ? image[0] : image }), stream: stream ?? false }
  const send = (sends > 0 ? openai.images.edit(body as never) : openai.images.generate(body as never)) as ReturnType<
    typeof openai.images.generate
  >
  const { data, response } = await send.withResponse()
  const items: { b64_json?: string; url?: string }[] = []
  if (Symbol.asyncIterator in data) {
    for await (const event of data) if (event.type.endsWith('.completed')) items.push(event)
  } else items.push(...(data.data as { b64_json?: string; url?: string }[]))
  const pictures = await Promise.all(items.map(item => lookAt(item)))
  return { pictures, id: response.headers.get('x-request-id') ?? '' }
}

function promptOf({ vendor }: Row, name: OperationName, { demand }: Try): string {
  return `${name} by ${vendor}${demand ? ` ${demand}` : ''}`
}

async function lookAt({ b64_json: base64, url }: { b64_json?: string; url?: string }): Promise<string> {
  if (base64 !== undefined) return pictureIn(base64)
  const answer = await fetch(url ?? '')
  return answer.ok ? pictureIn(Buffer.from(await answer.arrayBuffer())) : String(answer.status)
}

async function answer(t: Test, row: Row, name: OperationName, own: Try): Promise<void> {
  const { pictures, id } = await ask(row, name, own)
  t.strictSame(pictures, Array(own.comes ?? own.n ?? 1).fill(own.looks))
  const made = await vendors.vendor(row.simulator, {}).made(promptOf(row, name, own))
  const sizes = made.made.flatMap(one => one.pictures.map(({ width, height }) => `${width}x${height}`))
  t.strictSame(
    pictures.map(one => one.split(' ')[0]),
    sizes,
    'what came is what was made',
  )
  const charge = (await started.charges(1)).find(one => one.id === id)
  t.equal(charge?.state, 'settled')
  t.equal(charge?.lines.length, made.pictures, 'each picture is charged')
  t.equal(Number(charge?.amount), Number(own.amount ?? made.cost), 'and what it costs')
}

/** A refusal is an error with words, and free. */
async function refuse(t: Test, row: Row, name: OperationName, own: Try): Promise<void> {
  await t.rejects(ask(row, name, own), { status: /^4\d\d$/, message: /\w/ })
  const [charge] = await started.charges(1)
  t.match(charge, { state: 'voided', amount: '0' })
}
