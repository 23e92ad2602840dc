import { readFile } from 'node:fs/promises'
import t, { type Test } from 'tap'
import { readRecipe } from '../harness/recipes.ts'
import { checkBooks } from '../harness/shop.ts'
import { openMarket } from './market.ts'
import { type OperationName, operations, type Row, rows, type Try, writeTable } from './table.ts'

const pages = [...new Set(rows.map(row => row.page))]
const market = await openMarket(pages)

for (const row of rows)
  void t.test(`${row.vendor} by ${row.page}`, async t => {
    for (const operation of operations) {
      const own = row[operation]
      if ('cannot' in own) t.comment(`${row.vendor} ${operation}: cannot be had, ${own.cannot}`)
      else await t.test(operation, async t => (operation === 'refusal' ? refuse : answer)(t, row, operation, own))
    }
  })

t.test('a recipe runs unchanged, without an address and without a key', async t => {
  const bare = await openMarket(pages, {}, false)
  for (const row of rows) {
    const own = 'cannot' in row.generation ? row.edit : row.generation
    if ('cannot' in own) continue
    const { pictures } = await bare.ask({ ...own, model: row.model, prompt: 'a boat' })
    t.strictSame(pictures, [own.looks], row.vendor)
  }
})

t.test('the recipes page lists the tested and the unavailable operations', async t => {
  const recipes = new Map(await Promise.all(pages.map(async page => [page, await readRecipe(page)] as const)))
  const table = writeTable(({ page, model }) => {
    const { texts = [], fragments = [] } = recipes.get(page) ?? {}
    const block = fragments.findIndex(({ models }) => Object.hasOwn(models ?? {}, model))
    return (texts[block] ?? '').trimEnd().split('\n').length
  })
  t.comment(`\n${table}`)
  const text = await readFile(new URL('../../docs/recipes/README.md', import.meta.url), 'utf8')
  t.ok(text.includes(table), `docs/recipes/README.md has this table:\n${table}`)
})

t.test('the books are valid afterwards', async t => {
  await market.started.settled()
  t.strictSame(await checkBooks(market.started.gateway), [])
})

function promptOf({ vendor }: Row, name: OperationName, { demand }: Try): string {
  return `${name} by ${vendor}${demand ? ` ${demand}` : ''}`
}

/** Checks that the pictures match the vendor's record, and that the charge matches the vendor's charge. */
async function answer(t: Test, row: Row, name: OperationName, own: Try): Promise<void> {
  const prompt = promptOf(row, name, own)
  const { pictures, id } = await market.ask({ model: row.model, prompt, ...own })
  t.strictSame(pictures, Array(own.comes ?? own.n ?? 1).fill(own.looks))
  const { made, cost } = await market.made(row.simulator, prompt)
  const sizes = made.flatMap(one => one.pictures.map(({ width, height }) => `${width}x${height}`))
  t.strictSame(pictures.map(sizeOf), sizes, "the received pictures match the vendor's record")
  const charge = await market.charge()
  t.match(charge, { id, state: 'settled' })
  const items = charge?.lines.filter(({ quantity }) => quantity === null)
  t.equal(items?.length, sizes.length, 'each picture is charged')
  t.equal(Number(charge?.amount), Number(own.amount ?? cost), 'and its cost')
  const reportedCost = charge?.vendor_cost ?? null
  t.equal(
    reportedCost && Number(reportedCost),
    market.tellsCost(row.model) ? Number(cost) : null,
    "next to the vendor's own report",
  )
}

function sizeOf(picture: string): string | undefined {
  return picture.split(' ', 1)[0]
}

/** Checks that a refusal is an error with a message, and free. */
async function refuse(t: Test, row: Row, name: OperationName, own: Try): Promise<void> {
  const answer = market.ask({ model: row.model, prompt: promptOf(row, name, own), ...own })
  await t.rejects(answer, { status: /^4\d\d$/, message: /\w/ })
  t.match(await market.charge(), { state: 'voided', amount: '0' })
}
