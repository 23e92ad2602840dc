import t from 'tap'
import { JsonWalk } from '../../plugins/image-tier-billing/walk-json.ts'

/** Walks a text in two pieces. */
function walk(text: string, cut: number): { readonly walk: JsonWalk; readonly scalars: readonly string[] } {
  const scalars: string[] = []
  const walked = new JsonWalk({
    string: () => 'skip',
    bytes: () => undefined,
    bytesEnd: () => undefined,
    scalar: (_, value) => void scalars.push(value),
  })
  const bytes = Buffer.from(text)
  walked.walk(bytes.subarray(0, cut), 0)
  walked.walk(bytes.subarray(cut), cut)
  return { walk: walked, scalars }
}

const long = `0.${'1'.repeat(254)}`

t.test('numbers and words of JSON are read whole wherever the pieces are cut', async t => {
  for (const value of ['true', 'false', 'null', '0', '-0', '10', '1.25', '1e10', '1E+100', '2.5e-300', long]) {
    const text = `{"a":${value},"b":[${value}]}`
    for (let cut = 0; cut <= text.length; cut++) {
      const { walk: walked, scalars } = walk(text, cut)
      t.strictSame([walked.fault, walked.complete, scalars], [undefined, true, [value, value]], `${text} cut at ${cut}`)
    }
  }
})

t.test('what is neither a number nor a word of JSON ends the walk', async t => {
  for (const value of ['01', '1.', '.5', '1e', '1e+', '+1', '--1', 'tru', 'NaN', 'True', '0x10', `${long}1`])
    t.ok(walk(`{"a":${value}}`, 7).walk.fault, value)
})
