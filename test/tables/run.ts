import { readFileSync } from 'node:fs'
import { readLitellmTable } from '../../src/tools/prices/index.ts'
import { costingFields, unchargedFields } from '../harness/walk-price-fields.ts'

/**
 * Compares the import of a complete LiteLLM table with every price in it: `npm run tables -- TABLE.json [NAMES.txt]`.
 * Exits 1 if an imported row leaves a price uncharged.
 */
const [file, names] = process.argv.slice(2)
if (file === undefined) throw new Error('name a model_prices_and_context_window.json')
const text = readFileSync(file, 'utf8')
const source = JSON.parse(text) as { readonly [id: string]: { readonly [name: string]: unknown } }
const table = readLitellmTable(text)
if (!table) throw new Error(`${file} is no table of LiteLLM`)

const out = new Map(table.rows.filter(row => !row.unmapped).map(row => [row.id, row]))
const refused = new Map([
  ...table.left.map(({ id, why }) => [id, why] as const),
  ...table.rows.flatMap(({ id, unmapped }) =>
    unmapped ? [[id, `undercharged: ${unmapped.join('; ')}`] as const] : [],
  ),
])
const reasons = [...Map.groupBy(refused, ([, why]) => why)].toSorted(([, a], [, b]) => b.length - a.length)
console.log(`rows: ${out.size + refused.size} in, ${out.size} out, ${refused.size} refused`)
for (const [why, all] of reasons) console.log(`  ${String(all.length).padStart(4)}  ${why}`)

const modes = new Set(['chat', 'responses', 'completion', 'embedding', undefined])
const priced = Object.entries(source).filter(
  ([id, own]) => id !== 'sample_spec' && modes.has(own['mode'] as string) && costingFields(own).length > 0,
)
const share = (100 * priced.filter(([id]) => out.has(id)).length) / priced.length
console.log(`chat, responses, completion, embedding with a price: ${priced.length}, out: ${share.toFixed(1)} %`)

let fields = 0
const uncharged = [...out.values()].flatMap(row => {
  const own = source[row.id] ?? {}
  fields += costingFields(own).length
  const faults = unchargedFields(own, row)
  return faults.length > 0 ? [`${row.id}: ${faults.join(', ')}`] : []
})
console.log(`price fields of rows that came out: ${fields}; rows with one that is not charged: ${uncharged.length}`)
for (const line of uncharged) console.log(`  ${line}`)

if (names !== undefined) {
  const wanted = readFileSync(names, 'utf8')
    .split('\n')
    .filter(line => line !== '' && !line.startsWith('#'))
  const exact = wanted.filter(id => out.has(id) && unchargedFields(source[id] ?? {}, out.get(id) as never).length === 0)
  console.log(`named: ${wanted.length}, exact: ${exact.length}`)
  for (const id of wanted.filter(one => !exact.includes(one))) console.log(`  ${id}: ${refused.get(id) ?? 'not there'}`)
}
process.exitCode = uncharged.length > 0 ? 1 : 0
