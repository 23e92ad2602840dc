import t from 'tap'
import { Router } from '../../src/engine/router.ts'
import { someRoute } from '../harness/request-context.ts'
import { caseName } from '../harness/case-name.ts'

const routes = [
  ['POST', '/v1/images/generations'],
  ['GET', '/v1/models'],
  ['POST', '/v1beta/models/{model}:generateContent'],
  ['POST', '/v1beta/models/{model}:streamGenerateContent'],
  ['POST', '/v1/models/{model}:generateContent'],
  ['POST', '/v1/v1/models/{model}:generateContent'],
  ['GET', '/v1/models/{id}/versions'],
  ['GET', '/v1/models/{id}'],
  ['PUT', '/v1/{kind}/of/{id}'],
] as const
const router = new Router(routes.map(([method, path]) => someRoute({ method, path })))

/** The route's path and its parameters, or the router's other result. */
function find(method: string, path: string): readonly unknown[] {
  const match = router.find(method, path)
  if (match.kind === 'route') return [match.route.path, match.params]
  return match.kind === 'method' ? ['method', ...match.allow] : ['none']
}

t.test('a model in a path is found with any characters in its name, as every SDK encodes it', t => {
  const names = [
    ['gemini-x', 'gemini-x'],
    ['vendor/model-1', 'vendor/model-1'],
    ['vendor%2Fmodel-1', 'vendor/model-1'],
    ['a:b', 'a:b'],
    ['a%3Ab', 'a:b'],
    ['a:generateContent', 'a:generateContent'],
    ['%E5%A4%A7', '大'],
    ['a%20b', 'a b'],
    ['models/x', 'models/x'],
  ] as const
  for (const [sent, model] of names) {
    t.same(
      find('POST', `/v1beta/models/${sent}:generateContent`),
      ['/v1beta/models/{model}:generateContent', { model }],
      caseName({ sent, model }),
    )
    t.same(find('GET', `/v1/models/${sent}`), ['/v1/models/{id}', { id: model }], caseName({ sent, model }))
  }
  t.end()
})

t.test('a name in the path of a stored object is one segment', t => {
  const object = { of: { kind: 'conversation' } } as const
  const paths = ['/c/{id}/items', '/c/{id}/items/{item}', '/c/{id}']
  const own = new Router(paths.map(path => someRoute({ method: 'GET', path, object })))
  for (const [path, expected] of [
    ['/c/a/items', ['/c/{id}/items', { id: 'a' }]],
    ['/c/a/items/b', ['/c/{id}/items/{item}', { id: 'a', item: 'b' }]],
    ['/c/a/items/items', ['/c/{id}/items/{item}', { id: 'a', item: 'items' }]],
    ['/c/a%2Fb', ['/c/{id}', { id: 'a/b' }]],
    ['/c/a/b', undefined],
    ['/c/a/items/b/items', undefined],
  ] as const) {
    const match = own.find('GET', path)
    t.strictSame(match.kind === 'route' ? [match.route.path, match.params] : undefined, expected, caseName({ path }))
  }
  t.end()
})

t.test('a name never leads to another path of the upstream', t => {
  const object = { of: { kind: 'conversation' } } as const
  const own = new Router([someRoute({ method: 'GET', path: '/c/{id}/items/{item}', object })])
  for (const name of ['..', '.', '..%2Ffiles', 'a%2F..%2Fb', '%2e%2E%2Fb', 'a%2F..', '..%5Cb', 'a%2F.%2Fb', '.%2Fa']) {
    t.same(own.find('GET', `/c/a/items/${name}`), { kind: 'none' }, caseName({ name, of: 'an object' }))
    t.same(find('GET', `/v1/models/${name}`), ['none'], caseName({ name, of: 'a model' }))
  }
  for (const name of ['a..b', '...', '..a', 'a..', '.a', 'a%2Fb..c'])
    t.match(own.find('GET', `/c/a/items/${name}`), { kind: 'route' }, caseName({ name }))
  t.end()
})

t.test('the method after the colon decides, and each spelling of a path is separate', t => {
  t.match(find('POST', '/v1beta/models/m:streamGenerateContent'), ['/v1beta/models/{model}:streamGenerateContent'])
  t.match(find('POST', '/v1/models/m:generateContent'), ['/v1/models/{model}:generateContent', { model: 'm' }])
  t.match(find('POST', '/v1/v1/models/m:generateContent'), ['/v1/v1/models/{model}:generateContent', { model: 'm' }])
  t.same(find('POST', '/v1beta/models/m:predict'), ['none'])
  t.same(find('POST', '/v1beta/models/m%3AgenerateContent'), ['none'], 'an escaped colon is part of a name')
  t.same(find('POST', '/v1beta/models/m:generateContents'), ['none'])
  t.same(find('POST', '/v1beta/models/:generateContent'), ['none'], 'a name is never empty')
  t.end()
})

t.test('patterns are tried in the order written, and a literal path is found first', t => {
  t.same(find('GET', '/v1/models'), ['/v1/models', {}])
  t.same(find('GET', '/v1/models/a/versions'), ['/v1/models/{id}/versions', { id: 'a' }])
  t.same(find('GET', '/v1/models/versions'), ['/v1/models/{id}', { id: 'versions' }])
  t.same(find('PUT', '/v1/a/of/b/of/c'), ['/v1/{kind}/of/{id}', { kind: 'a/of/b', id: 'c' }])
  t.end()
})

t.test('HEAD finds what GET finds, and not other methods [6.9]', t => {
  t.same(find('HEAD', '/v1/models'), find('GET', '/v1/models'))
  t.same(find('HEAD', '/v1/models/a'), find('GET', '/v1/models/a'))
  t.same(find('HEAD', '/v1/images/generations'), ['method', 'POST'])
  t.end()
})

t.test('a path with other methods lists them', t => {
  t.same(find('GET', '/v1/images/generations'), ['method', 'POST'])
  t.same(find('DELETE', '/v1/models'), ['method', 'GET', 'HEAD'])
  t.same(find('DELETE', '/v1/models/a/versions'), ['method', 'GET', 'HEAD'])
  t.same(find('OPTIONS', '/v1/models/a:generateContent'), ['method', 'POST', 'GET', 'HEAD'])
  t.end()
})

t.test('an unknown path is not found, and never an error', t => {
  for (const path of ['', '/', '/v1', '/v1/models/', '/V1/models', '/v1/models/%', '/v1/models/%E5%A4', '/v1//models'])
    t.same(find('GET', path), ['none'], path)
  t.same(find('GET', '/v1/models/__proto__'), ['/v1/models/{id}', { id: '__proto__' }])
  t.end()
})
