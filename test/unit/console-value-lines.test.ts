import t from 'tap'
import { changedLines, linesOf } from '../../src/console/pages/config/edit/value-lines.ts'
import { estimateTokens } from '../../src/console/pages/playground/estimate-tokens.ts'

t.test('a staged value is shown as the lines that differ', async t => {
  t.strictSame(linesOf({ family: 'one', prices: { input: '0.50' }, limits: ['a', 'b'], routes: [{ upstream: 'x' }] }), [
    'family: one',
    'prices.input: 0.50',
    'limits: [a, b]',
    'routes[0].upstream: x',
  ])
  t.strictSame(changedLines('0.04', '0.05'), [
    { kind: 'gone', text: '0.04' },
    { kind: 'new', text: '0.05' },
  ])
  t.strictSame(
    changedLines({ a: 1, b: { c: 'same', d: 'x: y' } }, { b: { c: 'same', d: 'z' }, e: null }).map(
      ({ kind, text }) => `${kind} ${text}`,
    ),
    ['gone a: 1', 'gone b.d: x: y', 'new b.d: z', 'new e: null'],
  )
  t.strictSame(changedLines(undefined, 'x'), [{ kind: 'new', text: 'x' }])
})

t.test('tokens of a message are estimated by its letters', async t => {
  t.equal(estimateTokens(['twelve chars']), 3)
  t.equal(estimateTokens(['你好', 'ab']), 3)
  t.equal(estimateTokens([]), 0)
})
