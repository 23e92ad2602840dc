import t from 'tap'
import { TextCache } from '../../src/admin/pages/text-cache.ts'
import type { CompiledConfig } from '../../src/domain/index.ts'

t.test('a text is rendered once, and again if that failed', async t => {
  const cache = new TextCache()
  const plan = {} as CompiledConfig
  let rendered = 0
  const take = () =>
    cache.take(plan, 'a page', () => {
      rendered++
      if (rendered === 1) throw new Error('not yet')
      return 'its text'
    })
  await t.rejects(take(), { message: 'not yet' })
  t.match(await take(), { plain: Buffer.from('its text') })
  await take()
  t.equal(rendered, 2)
})
