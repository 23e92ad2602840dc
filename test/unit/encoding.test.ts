import t from 'tap'
import { chooseEncoding } from '../../src/admin/encoding.ts'
import { caseName } from '../harness/case-name.ts'

t.test('an answer uses an encoding that the client accepts', async t => {
  for (const [header, chosen] of [
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip', 'gzip'],
    ['GZIP', 'gzip'],
    ['br;q=0, gzip', 'gzip'],
    ['br; q=0.1, gzip;q=1', 'br'],
    ['*', 'br'],
    ['*;q=0', undefined],
    ['identity', undefined],
    ['x-gzip', undefined],
    ['gzip;q=0', undefined],
    ['gzip;q=many', undefined],
    ['', undefined],
    [undefined, undefined],
  ] as const)
    t.equal(chooseEncoding(header, ['br', 'gzip']), chosen, caseName({ header }))
})
