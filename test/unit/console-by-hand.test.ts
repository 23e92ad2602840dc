import t from 'tap'
import { createKeyReader } from '../../src/console/key-reader.ts'
import { missingViews, nameMax, readViews, type View, viewsMax } from '../../src/console/views.ts'
import { caseName } from '../harness/case-name.ts'

const none = { altKey: false, ctrlKey: false, metaKey: false, repeat: false, isComposing: false }

t.test('single keys open the list, the filter and, after g, a page', async t => {
  let now = 0
  const read = createKeyReader(() => now)
  const press = (keys: readonly string[]) => keys.map(key => read({ ...none, key })).at(-1)
  const rows: readonly (readonly [keys: readonly string[], wish: unknown])[] = [
    [['?'], { kind: 'list' }],
    [['/'], { kind: 'filter' }],
    [['l'], null],
    [['g', 'l'], { kind: 'go', letter: 'l' }],
    [['G', 'Shift', 'L'], { kind: 'go', letter: 'l' }],
    [['g', 'g'], { kind: 'go', letter: 'g' }],
    [['g', 'l', 'l'], null],
    [['g', 'Escape', 'l'], null],
    [['g', '/'], { kind: 'filter' }],
  ]
  for (const [keys, wish] of rows) {
    now += 10_000
    t.strictSame(press(keys), wish, caseName({ keys }))
  }
  press(['g'])
  now += 1501
  t.equal(press(['l']), null, 'a late letter belongs to no shortcut')
})

t.test('no shortcut while another key is held, repeated, or composing', async t => {
  for (const held of ['altKey', 'ctrlKey', 'metaKey', 'repeat', 'isComposing']) {
    const read = createKeyReader(() => 0)
    t.equal(read({ ...none, key: '?', [held]: true }), null, held)
    read({ ...none, key: 'g' })
    t.equal(read({ ...none, key: 'l', [held]: true }), null, held)
  }
})

t.test('views of a browser that the gateway lacks are moved there, under a free name', async t => {
  const [a, b]: [View, View] = [
    { name: 'a', query: '?model=a' },
    { name: 'b', query: '?model=b' },
  ]
  t.strictSame(readViews(JSON.stringify([a, b])), [a, b])
  t.strictSame(missingViews([a, b], []), [a, b])
  t.strictSame(missingViews([a, b], [{ ...a, name: 'called otherwise' }]), [b], 'one that is there has its name')
  t.strictSame(
    missingViews(
      [a, b],
      [
        { name: 'a', query: '?x=1' },
        { name: 'a 2', query: '?x=2' },
      ],
    ),
    [{ ...a, name: 'a 3' }, b],
    'a name that another has',
  )
  const long = 'n'.repeat(nameMax)
  const [renamed] = missingViews([{ name: long, query: '?y=1' }], [{ name: long, query: '?x=1' }])
  t.ok(renamed && renamed.name !== long && renamed.name.length <= nameMax)
  const many = Array.from({ length: viewsMax - 1 }, (_, i) => ({ name: `${i}`, query: `?a=${i}` }))
  t.strictSame(missingViews([a, b], many), [a], 'as many as there is room for')
})

t.test('invalid stored views are ignored', async t => {
  t.strictSame(readViews(undefined), [])
  for (const kept of ['', '{', 'null', '{}', '"?a=1"', '[null, 1, "a", {}]']) t.strictSame(readViews(kept), [], kept)
  for (const view of [
    { name: '', query: '?a=1' },
    { name: 'n'.repeat(nameMax + 1), query: '?a=1' },
    { name: 1, query: '?a=1' },
    { name: 'a\nb', query: '?a=1' },
    { name: 'a', query: '?a= 1' },
    { name: 'a', query: '' },
    { name: 'a', query: '/elsewhere?a=1' },
    { name: 'a', query: '//elsewhere' },
    { name: 'a', query: '?a=1#b' },
    { name: 'a', query: `?a=${'1'.repeat(2000)}` },
  ])
    t.strictSame(readViews(JSON.stringify([view])), [], caseName({ view }))
  const many = Array.from({ length: viewsMax + 1 }, (_, i) => ({ name: `${i}`, query: `?a=${i}` }))
  t.equal(readViews(JSON.stringify(many)).length, viewsMax)
})
