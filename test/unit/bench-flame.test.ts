import t from 'tap'
import { partOf, type Profile, timeByPart, treeOf } from '../../bench/flame-parts.ts'
import { drawFlames } from '../../bench/flame-svg.ts'

const frame = (functionName: string, url = '') => ({ functionName, url, lineNumber: 9 })
const engine = 'file:///app/src/engine/send.ts'

/** 10 µs idle, 5 µs of garbage collection, and a function of the engine in two nodes, which calls a native one. */
const profile: Profile = {
  nodes: [
    { id: 1, callFrame: frame('(root)'), children: [2, 3, 4, 5] },
    { id: 2, callFrame: frame('(idle)') },
    { id: 3, callFrame: frame('(garbage collector)') },
    { id: 4, callFrame: frame('send', engine), children: [6] },
    { id: 5, callFrame: frame('send', engine), children: [7] },
    { id: 6, callFrame: frame('parse') },
    { id: 7, callFrame: frame('parse') },
  ],
  samples: [2, 3, 4, 6, 7, 5],
  timeDeltas: [10, 5, 20, 30, 40, 5],
}

t.test('a profile has the time of each part, without idle time', async t => {
  const root = treeOf(profile)
  t.equal(root.all, 100)
  t.same(timeByPart(root), [
    ['src/engine', 95],
    ['garbage collection', 5],
  ])
  const [send] = root.children.filter(({ name }) => name === 'send src/engine/send.ts:10')
  t.match(send, { own: 25, all: 95, children: [{ name: 'parse', own: 70, part: 'src/engine' }] })
  t.throws(() => treeOf({ nodes: [], samples: [], timeDeltas: [] }), /without a frame/)
})

t.test('a function belongs to a plugin, a folder, a package or a module of Node', async t => {
  const cases: readonly (readonly [url: string, part: string])[] = [
    ['file:///app/plugins/auth/plugin.ts', 'plugins/auth'],
    ['file:///app/src/storage/sqlite/open.ts', 'src/storage'],
    ['file:///app/node_modules/pino/lib/tools.js', 'pino'],
    ['file:///app/node_modules/@hono/node/x.js', '@hono/node'],
    ['node:_http_server', 'Node: HTTP'],
    ['node:net', 'Node: sockets, streams, events'],
    ['node:internal/process/task_queues', 'Node: ticks, promises, timers'],
    ['node:buffer', 'Node: buffers and encodings'],
    ['node:fs', 'Node: other'],
    ['', 'the caller'],
    ['file:///elsewhere/x.js', 'other'],
  ]
  for (const [url, part] of cases) t.equal(partOf(frame('x', url), 'the caller'), part, url)
  t.match(partOf(frame('(program)'), 'the caller'), /^outside of JavaScript/)
})

t.test('a flame graph has a rectangle for each frame, as wide as its time, with its names escaped', async t => {
  const leaf = (name: string, own: number) => ({ name, part: 'p', own, all: own, children: [] })
  const children = [leaf('a < "b"', 75), leaf('narrow', 24.99), leaf('unseen', 0.01)]
  const svg = drawFlames({ name: 'main', part: 'none', own: 0, all: 100, children }, 'chat & more')
  t.match(svg, '<title>a &lt; &quot;b&quot; (p): 75.00 %</title><rect x="0.0" y="-17" width="1200.0"')
  t.match(svg, 'chat &amp; more')
  t.notMatch(svg, 'unseen')
  t.equal(svg.match(/<rect x=/g)?.length, 3)
})
